"""Tests of a program that leave state behind, for the fixtures of docs/testing.md."""

import interlock
from interlock import backends


def test_leaves_a_scope_open():
    interlock.no_grad().__enter__()


def test_leaves_a_scope_open_that_changes_nothing():
    assert interlock.is_grad_enabled()
    interlock.enable_grad().__enter__()


def test_leaves_a_flag_changed():
    backends.cudnn.benchmark = True


def test_enters_scopes_until_its_end(enter_scope):
    enter_scope(interlock.no_grad())
    enter_scope(backends.override({"cudnn.benchmark": True}))
    assert not interlock.is_grad_enabled()


def test_begins_with_the_defaults():
    assert interlock.is_grad_enabled()
    assert not backends.cudnn.benchmark
