// Who searches wants what polyopt does first, then why: decisions come last. The other numbers are Sphinx's own.
var Scorer = {
  score: ([docname, , , , score]) => (docname.startsWith("adr/") ? score - 1000 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
