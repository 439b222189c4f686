class Token:
    type: str
    value: str
    lineno: int
    column: int

class CLexer:
    def token(self) -> Token | None: ...
