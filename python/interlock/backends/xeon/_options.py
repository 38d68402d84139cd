"""The options of the launcher, and which of them contradict one another."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LATENCY_CORES", "Options", "conflict", "spelled"]

# How many cores an instance has in latency mode.
LATENCY_CORES = 4


@dataclass(frozen=True)
class Options:
    """What the command line asks for; None is what it leaves open."""

    program: str
    arguments: tuple[str, ...] = ()
    multi_instance: bool = False
    module: bool = False
    no_python: bool = False
    enable_tcmalloc: bool = False
    enable_jemalloc: bool = False
    use_default_allocator: bool = False
    disable_iomp: bool = False
    ninstances: int | None = None
    ncores_per_instance: int | None = None
    node_id: int | None = None
    rank: int | None = None
    core_list: tuple[int, ...] | None = None
    use_logical_core: bool = False
    skip_cross_node_cores: bool = False
    latency_mode: bool = False
    throughput_mode: bool = False
    disable_numactl: bool = False
    disable_taskset: bool = False
    log_path: str | None = None
    log_file_prefix: str | None = None
    dry_run: bool = False
    json: bool = False

    @property
    def has_number(self) -> bool:
        """Whether numbers say which instances there are."""
        return self.ninstances is not None or self.ncores_per_instance is not None

    @property
    def an_instance_per_node(self) -> bool:
        """Whether nodes, and no numbers, say which instances there are."""
        return self.throughput_mode or (self.multi_instance and not self.has_number and not self.latency_mode)


# Options of which at most one may be given.
_EXCLUSIVE = (
    ("latency_mode", "throughput_mode"),
    ("latency_mode", "ninstances"),
    ("latency_mode", "ncores_per_instance"),
    ("latency_mode", "node_id"),
    ("latency_mode", "core_list"),
    ("latency_mode", "use_logical_core"),
    ("throughput_mode", "ninstances"),
    ("throughput_mode", "ncores_per_instance"),
    ("throughput_mode", "node_id"),
    ("throughput_mode", "core_list"),
    ("throughput_mode", "use_logical_core"),
    ("enable_tcmalloc", "enable_jemalloc"),
    ("enable_tcmalloc", "use_default_allocator"),
    ("enable_jemalloc", "use_default_allocator"),
    ("node_id", "core_list"),
    ("module", "no_python"),
)


def conflict(options: Options) -> str | None:
    """Return what is wrong with these options whatever the machine, or None."""
    for one, other in _EXCLUSIVE:
        if _is_given(options, one) and _is_given(options, other):
            return f"{spelled(one)} and {spelled(other)} contradict each other; give one of them"
    if options.json and not options.dry_run:
        return "--json is a form of the plan that --dry-run prints; give both"
    if options.log_file_prefix is not None and options.log_path is None:
        return "--log-file-prefix names files in the folder of --log-path; give both"
    if options.core_list is not None and not options.has_number:
        return "--core-list needs --ninstances or --ncores-per-instance, which say how to divide the cores"
    if options.skip_cross_node_cores and options.ncores_per_instance is None and not options.latency_mode:
        return "--skip-cross-node-cores needs --ncores-per-instance or --latency-mode"
    has_mode = options.latency_mode or options.throughput_mode or options.multi_instance
    if options.rank is not None and not (options.has_number or has_mode):
        return (
            "--rank needs --ninstances, --ncores-per-instance, --latency-mode, --throughput-mode or "
            "--multi-instance, which say of which instances it is one"
        )
    if options.ninstances is not None and (options.rank or 0) >= options.ninstances:
        return (
            f"--rank {options.rank} is beyond --ninstances {options.ninstances}; "
            f"ranks go from 0 to {options.ninstances - 1}"
        )
    if "/" in (options.log_file_prefix or ""):
        return f"--log-file-prefix {options.log_file_prefix!r} has a slash; --log-path names the folder"
    if not (options.module or options.no_python or options.program.endswith(".py")):
        return (
            f"{options.program!r} does not end in .py; give --no-python for a program that is not Python, "
            "or -m for a module"
        )
    return None


def _is_given(options: Options, name: str) -> bool:
    value = getattr(options, name)
    # Not by equality: 0, which is a node, equals False.
    return value is not None and value is not False


def spelled(name: str) -> str:
    """Return an option as it is written on the command line."""
    return "-m" if name == "module" else "--" + name.replace("_", "-")
