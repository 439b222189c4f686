# The lexer that pcpp makes, of what polyopt uses.
import re

class Lexer:
    #: expressions in the order in which they are tried; for each of a match's groups, the function
    #: of its rule and the type of the token
    lexre: list[tuple[re.Pattern[str], list[tuple[object, str] | None]]]

def default_lexer() -> Lexer: ...
