// The site of version X lies in a folder X, and versions.json of the newest beside these folders.
// Without that file, or with one version in it, the sidebar says the version and offers none.
(async () => {
  const place = document.querySelector(".site-versions");
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const here = place?.dataset.version;
  if (!place || !root.pathname.endsWith(`/${here}/`)) return;
  const answer = await fetch(new URL("../versions.json", root)).catch(() => null);
  if (!answer?.ok) return;
  const known = await answer.json();
  if (known.length < 2) return;
  const list = document.createElement("select");
  list.setAttribute("aria-label", "version");
  for (const { version, released } of known)
    list.add(new Option(released ? version : `${version}, not released`, version,
      version === here, version === here));
  list.addEventListener("change", async () => {
    const other = new URL(`../${list.value}/`, root);
    const page = new URL(location.pathname.slice(root.pathname.length), other);
    const there = await fetch(page, { method: "HEAD" }).catch(() => null);
    location.href = there?.ok ? page : other; // a page that version may not have
  });
  place.replaceChildren("version ", list);
})();
