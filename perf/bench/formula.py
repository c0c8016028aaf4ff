"""Arithmetic on named values, and bounds. A formula is data in acceptance.json and is never executed as Python."""
from __future__ import annotations

import ast
import operator
import re
from typing import Callable

_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max}
_BOUND = re.compile(r"^(<=|>=|==)\s*(-?\d+(?:\.\d+)?)$")
_COMPARE = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}


class FormulaError(ValueError):
    """The message names the formula or bound and the error in it."""


def evaluate(formula: str, values: dict[str, float]) -> float:
    """Evaluates numbers, names of `values`, + - * / ( ), min(...), max(...). Raises FormulaError."""

    def walk(node: ast.expr) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in values:
            return values[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](walk(node.left), walk(node.right))
        if (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
                and not node.keywords):
            return _FUNCTIONS[node.func.id](*(walk(part) for part in node.args))
        raise FormulaError(f"formula '{formula}': {ast.unparse(node)} is neither arithmetic nor one of "
                           f"{', '.join(sorted(values))}")

    try:
        return walk(ast.parse(formula, mode="eval").body)
    except SyntaxError as error:
        raise FormulaError(f"formula '{formula}': {error.msg}") from None
    except ZeroDivisionError:
        raise FormulaError(f"formula '{formula}': division by zero") from None


def names_in(formula: str) -> set[str]:
    """Returns the names of a valid formula, those of its functions too."""
    return {node.id for node in ast.walk(ast.parse(formula, mode="eval")) if isinstance(node, ast.Name)}


def holds(value: float, bound: str) -> bool:
    """Whether `value` keeps a bound such as `>= 0.97`. Raises FormulaError."""
    match = _BOUND.match(bound)
    if not match:
        raise FormulaError(f"bound '{bound}': expected <=, >= or == and a number")
    return _COMPARE[match[1]](value, float(match[2]))
