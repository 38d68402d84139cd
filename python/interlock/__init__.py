"""The control plane of an eager tensor runtime."""

from interlock import _core as _core
