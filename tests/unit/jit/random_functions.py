"""Random functions over whole arrays: their text, and arguments of random types and layouts."""

import numpy as np

KINDS = (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_)
ROWS, COLUMNS = 6, 7
#: subscripts that leave rows or columns without their first and last two, in three ways
INNER = ("1:-1", ":-2", "2:")
WHOLE = (":", "::-1", "...")


class Writer:
    """Writes a function of random statements."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.names = ["a", "b", "c"]
        self.kinds = {name: self.pick(KINDS) for name in self.names}

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def source(self):
        lines = []
        for number in range(int(self.rng.integers(1, 5))):
            lines += self.statement(number)
        results = [n for n in self.names if n not in "abc"] or ["a"]
        lines.append(f"return {', '.join(results)}")
        body = "\n".join(f"    {line}" for line in lines)
        return f"import numpy as np\n\n\ndef function(a, b, c, row, x, n):\n{body}\n"

    def statement(self, number):
        match int(self.rng.integers(9)):
            case 0 | 1 | 2:
                name = f"v{number}"
                text = self.expression(3, self.whole)
                self.names.append(name)
                return [f"{name} = a * 0 + ({text})"]
            case 3:
                target = self.pick([n for n in self.names if n != "c"])
                return [f"{target}[{self.pick(INNER)}, {self.pick(INNER)}] = {self.inner(2)}"]
            case 4:
                target = self.pick(self.names)
                return [f"{target} += {self.pick(['1', target, target + '[::-1]', 'n'])}"]
            case 5:
                body = self.changes() + self.changes()
                return ["for k in range(n):", *(f"    {line}" for line in body)]
            case 6:
                test = self.pick(["a[0, 0] > 2", "x > c[1, 2]", "n == 3", "row[2] != b[0, 1]"])
                return [f"if {test}:", *(f"    {line}" for line in self.changes()), "else:",
                        *(f"    {line}" for line in self.changes())]  # fmt: skip
            case 7:
                inner = (
                    f"a[i, j] = {self.pick(['b[i, j]', 'a[i - 1, j]', 'max(a[i, j], c[i, 0])'])}"
                )
                return ["for i in range(a.shape[0]):", "    for j in range(a.shape[1]):",
                        f"        {inner}"]  # fmt: skip
            case _:
                name = f"r{number}"
                how = self.pick(["sum", "max", "min", "mean", "prod", "any", "argmax"])
                axis = self.pick(["axis=0", "axis=1", "0"] + [""] * (how != "argmax"))
                of = self.expression(2, self.whole)
                self.names_of_results = name
                text = f"{name} = np.{how}(a * 0 + ({of}){', ' * bool(axis)}{axis})"
                return [text, f"v{number} = a * 0 + np.sum({name})", *self.known(f"v{number}")]

    def changes(self):
        """A statement that changes what there is."""
        target = self.pick(self.names)
        match int(self.rng.integers(5)):
            case 0:
                return [f"{target}[{self.pick(INNER)}, {self.pick(INNER)}] = {self.inner(1)}"]
            case 1:
                return [
                    f"{target}[:, 1:] += {self.pick(self.names)}[:, :-1].astype({target}.dtype)"
                ]
            case 2:
                return [f"{target}[0] = {target}[-1]", f"{target}[::2] = {target}[::-2]"]
            case 3:
                return [f"{target}[{target} == {target}[0, 0]] = {self.pick(['0', '1'])}"]
            case _:
                names = [n for n in self.names if n not in "abc"] or ["row"]
                name = self.pick(names)
                return [f"{name} = {name}[::-1].copy()"]

    def known(self, name):
        self.names.append(name)
        return []

    def inner(self, depth):
        return self.expression(
            depth, lambda: f"{self.pick(self.names)}[{self.pick(INNER)}, {self.pick(INNER)}]"
        )

    def whole(self):
        name = self.pick(self.names)
        options = [name, f"{name}[{self.pick(WHOLE)}]", f"{name}[0]", f"{name}[:, -1:]", "row"]
        options += ["x", "n", "2", "0.5", "np.roll(" + name + ", 1, axis=0)", f"{name}[:, ::-1]"]
        return self.pick(options)

    def expression(self, depth, leaf):
        if depth == 0 or self.rng.random() < 0.15:
            return leaf()
        one, other = (self.expression(depth - 1, leaf) for _ in range(2))
        match int(self.rng.integers(7)):
            case 0 | 1 | 2:
                return f"({one} {self.pick(['+', '-', '*', '/'])} {other})"
            case 3:
                return f"np.where({one} {self.pick(['<', '<=', '>', '==', '!='])} {other}, {one}, {other})"
            case 4:
                return f"np.{self.pick(['maximum', 'minimum'])}({one}, {other})"
            case 5:
                return f"np.{self.pick(['abs', 'sign', 'square', 'isnan'])}({one})"
            case _:
                return f"np.{self.pick(['float64', 'float32'])}({one})"

    def arguments(self):
        rng = np.random.default_rng(int(self.rng.integers(1 << 30)))
        arrays = [
            self.laid_out(self.filled(rng, self.kinds[n], (ROWS, COLUMNS)), rng) for n in "abc"
        ]
        return [*arrays, self.filled(rng, self.pick(KINDS), (COLUMNS,)), 1.5, 3]

    @staticmethod
    def filled(rng, kind, shape):
        if kind is np.bool_:
            return rng.random(shape) < 0.5
        if np.dtype(kind).kind == "f":
            return rng.standard_normal(shape).astype(kind)
        return rng.integers(0, 9, shape).astype(kind)

    @staticmethod
    def laid_out(array, rng):
        match int(rng.integers(5)):
            case 0:
                return np.asfortranarray(array)
            case 1:
                return array[::-1].copy()[::-1]
            case 2:
                wide = np.zeros((ROWS + 2, 2 * COLUMNS), array.dtype)
                view = wide[1:-1, ::2]
                view[...] = array
                return view
            case _:
                return array
