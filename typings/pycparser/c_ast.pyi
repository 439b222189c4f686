from collections.abc import Sequence

class Coord:
    file: str
    line: int
    column: int | None

class Node:
    __slots__: tuple[str, ...]
    coord: Coord | None
    def children(self) -> Sequence[tuple[str, Node]]: ...

class ArrayDecl(Node):
    def __init__(
        self, type: Node, dim: Node | None, dim_quals: list[str], coord: Coord | None = None
    ) -> None: ...
    type: Node
    dim: Node | None
    dim_quals: list[str]

class ArrayRef(Node):
    def __init__(self, name: Node, subscript: Node, coord: Coord | None = None) -> None: ...
    name: Node
    subscript: Node

class Assignment(Node):
    def __init__(self, op: str, lvalue: Node, rvalue: Node, coord: Coord | None = None) -> None: ...
    op: str
    lvalue: Node
    rvalue: Node

class BinaryOp(Node):
    def __init__(self, op: str, left: Node, right: Node, coord: Coord | None = None) -> None: ...
    op: str
    left: Node
    right: Node

class Break(Node): ...

class Cast(Node):
    def __init__(self, to_type: Typename, expr: Node, coord: Coord | None = None) -> None: ...
    to_type: Typename
    expr: Node

class Compound(Node):
    def __init__(self, block_items: Sequence[Node] | None, coord: Coord | None = None) -> None: ...
    block_items: list[Node] | None

class Constant(Node):
    def __init__(self, type: str, value: str, coord: Coord | None = None) -> None: ...
    type: str
    value: str

class Case(Node):
    stmts: list[Node] | None

class Continue(Node): ...

class Decl(Node):
    def __init__(
        self,
        name: str,
        quals: list[str],
        align: list[Node],
        storage: list[str],
        funcspec: list[str],
        type: Node,
        init: Node | None,
        bitsize: Node | None,
        coord: Coord | None = None,
    ) -> None: ...
    name: str  # None for a bare struct, union or enum alone
    quals: list[str]
    storage: list[str]
    funcspec: list[str]
    type: Node
    init: Node | None
    bitsize: Node | None

class DeclList(Node):
    decls: list[Decl]

class Default(Node):
    stmts: list[Node] | None

class DoWhile(Node):
    cond: Node
    stmt: Node

class EllipsisParam(Node): ...
class EmptyStatement(Node): ...

class Enum(Node):
    name: str | None
    values: EnumeratorList | None

class Enumerator(Node):
    name: str
    value: Node | None

class EnumeratorList(Node):
    enumerators: list[Enumerator]

class ExprList(Node):
    exprs: list[Node]

class FileAST(Node):
    ext: list[Node]

class For(Node):
    def __init__(
        self,
        init: Node | None,
        cond: Node | None,
        next: Node | None,
        stmt: Node,
        coord: Coord | None = None,
    ) -> None: ...
    init: Node | None
    cond: Node | None
    next: Node | None
    stmt: Node

class FuncCall(Node):
    name: Node
    args: ExprList | None

class FuncDecl(Node):
    args: ParamList | None
    type: TypeDecl | PtrDecl

class _FunctionHead(Decl):
    name: str
    type: FuncDecl

class FuncDef(Node):
    decl: _FunctionHead
    param_decls: list[Decl] | None
    body: Compound

class Goto(Node):
    name: str

class ID(Node):
    def __init__(self, name: str, coord: Coord | None = None) -> None: ...
    name: str

class IdentifierType(Node):
    def __init__(self, names: list[str], coord: Coord | None = None) -> None: ...
    names: list[str]

class If(Node):
    def __init__(
        self, cond: Node, iftrue: Node | None, iffalse: Node | None, coord: Coord | None = None
    ) -> None: ...
    cond: Node
    iftrue: Node | None
    iffalse: Node | None

class InitList(Node):
    exprs: list[Node]

class Label(Node):
    name: str
    stmt: Node

class NamedInitializer(Node):
    expr: Node

class ParamList(Node):
    params: list[Decl | Typename | EllipsisParam]

class Pragma(Node):
    string: str

class PtrDecl(Node):
    def __init__(self, quals: list[str], type: Node, coord: Coord | None = None) -> None: ...
    quals: list[str]
    type: Node

class Return(Node):
    expr: Node | None

class Struct(Node):
    name: str | None
    decls: list[Node] | None

class StructRef(Node):
    name: Node
    type: str
    field: ID

class Switch(Node):
    cond: Node
    stmt: Node

class TernaryOp(Node):
    cond: Node
    iftrue: Node
    iffalse: Node

class TypeDecl(Node):
    def __init__(
        self,
        declname: str | None,
        quals: list[str],
        align: list[Node] | None,
        type: Node,
        coord: Coord | None = None,
    ) -> None: ...
    declname: str | None
    quals: list[str]
    type: Node

class Typedef(Node):
    name: str
    quals: list[str]
    storage: list[str]
    type: Node

class Typename(Node):
    def __init__(
        self,
        name: str | None,
        quals: list[str],
        align: list[Node] | None,
        type: Node,
        coord: Coord | None = None,
    ) -> None: ...
    name: str | None
    quals: list[str]
    type: Node

class UnaryOp(Node):
    def __init__(self, op: str, expr: Node, coord: Coord | None = None) -> None: ...
    op: str
    expr: Node

class Union(Node):
    name: str | None
    decls: list[Node] | None

class While(Node):
    def __init__(self, cond: Node, stmt: Node, coord: Coord | None = None) -> None: ...
    cond: Node
    stmt: Node
