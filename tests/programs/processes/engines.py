"""The state of a driver in workers of the standard library, joblib, PyTorch's DataLoader, Ray and Spark."""

import json
import multiprocessing
import os
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from interlock import backends
from interlock.integrations import Portable, portable, received

OWN = {"INTERLOCK_CUDNN_DETERMINISTIC": "0", "OMP_NUM_THREADS": "2"}


def state_of_driver():
    backends.cudnn.deterministic = True
    backends.cudnn.conv.fp32_precision = "ieee"
    return portable(threads=1, environment={"NCCL_DEBUG": "INFO"})


def newer(state):
    """Return a state as a later version of interlock would send it."""
    parts = json.loads(state.to_json())
    parts["flags"]["cudnn.of_the_future"] = 1
    return Portable(parts | {"version": 2, "schedule": {"kind": "cosine"}})


def drifts(state, workers):
    """Return the different differences of workers, without the names of the workers."""
    found = state.verify(workers)
    assert found.workers
    return [list(row) for row in sorted({(drift.name, drift.found, drift.reason) for drift in found.drifts})]


def observe_and_wait(state):
    time.sleep(0.2)
    return state.observe()


def observed_by(workers, state):
    """Return what several calls at one time observe."""
    return [call.result(60) for call in [workers.submit(observe_and_wait, state) for _ in range(4)]]


def kill_itself():
    os.kill(os.getpid(), signal.SIGKILL)


def unknown_parts():
    return portable().unknown


def executor(method):
    """Return the outcomes of `concurrent.futures`."""
    state = state_of_driver()
    context = multiprocessing.get_context(method)
    found = {}

    def pool(chosen, **options):
        return ProcessPoolExecutor(2, mp_context=context, initializer=chosen.install, **options)

    with pool(state) as workers:
        first = workers.submit(os.getpid).result(60)
        others = {answer["pid"] for answer in observed_by(workers, state)} - {first}
        found["joins late"] = [len(others), drifts(state, workers)]
        try:
            workers.submit(kill_itself).result(60)
        except BrokenProcessPool as error:
            found["dies"] = type(error).__name__
        found["asked after its death"] = drifts(state, workers)[0][:2]
    with pool(state) as workers:
        found["a new executor"] = drifts(state, workers)
    if method != "fork":
        with pool(state, max_tasks_per_child=1) as workers:
            pids = {workers.submit(os.getpid).result(60) for _ in range(3)}
            found["restarts"] = [len(pids), drifts(state, workers)]
    with pool(newer(state)) as workers:
        found["another version"] = drifts(newer(state), workers)
        found["unknown parts"] = workers.submit(unknown_parts).result(60)
    os.environ |= OWN
    with pool(state) as workers:
        found["own environment"] = drifts(state, workers)
    return found


def pool(method):
    """Return the outcomes of `multiprocessing.Pool`."""
    state = state_of_driver()
    context = multiprocessing.get_context(method)
    found = {}
    with context.Pool(2, initializer=state.install) as workers:
        found["running"] = drifts(state, workers)
        workers.apply_async(kill_itself)
        before = {process.pid for process in workers._pool}
        while {process.pid for process in workers._pool} == before:
            time.sleep(0.05)
        found["dies"] = drifts(state, workers)
    with context.Pool(2, initializer=state.install, maxtasksperchild=1) as workers:
        found["restarts"] = drifts(state, workers)
    with context.Pool(2, initializer=newer(state).install) as workers:
        found["another version"] = drifts(newer(state), workers)
        found["unknown parts"] = workers.apply(unknown_parts)
    os.environ |= OWN
    with context.Pool(2, initializer=state.install) as workers:
        found["own environment"] = drifts(state, workers)
    return found


def joblib(without_interlock):
    """Return the outcomes of joblib; `without_interlock` are variables of workers that lack interlock."""
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky import reusable_executor
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    state = state_of_driver()
    found = {}

    def workers():
        return Parallel(n_jobs=2)

    def end_workers():
        # The next call starts new ones: joblib compares its own options only.
        reusable_executor._executor.shutdown(wait=True)

    found["without the state"] = sorted({name for name, *_ in drifts(state, workers())})
    with parallel_config(**state.joblib()):
        found["running"] = drifts(state, Parallel(n_jobs=2))
        found["joins late"] = drifts(state, Parallel(n_jobs=3))
        try:
            workers()(delayed(os.kill)(pid, signal.SIGKILL) for pid in _pids(workers()))
        except TerminatedWorkerError as error:
            found["dies"] = type(error).__name__
        found["after its death"] = drifts(state, workers())
    end_workers()
    with parallel_config(**state.joblib()):
        found["restarts"] = drifts(state, workers())
    with parallel_config(**newer(state).joblib()):
        found["another version"] = drifts(newer(state), workers())
    end_workers()
    os.environ |= OWN
    with parallel_config(**state.joblib()):
        found["own environment"] = drifts(state, workers())
    end_workers()
    for name in OWN:
        del os.environ[name]
    os.environ |= without_interlock
    with parallel_config(**state.joblib()):
        found["lacks interlock"] = drifts(state, workers())
        found["lives"] = sum(workers()(delayed(abs)(-1) for _ in range(3)))
    return found


def _pids(workers):
    from joblib import delayed

    return list(dict.fromkeys(workers(delayed(os.getpid)() for _ in range(4))))[:1]


def ray(folder, without_interlock):
    """Return the outcomes of Ray."""
    import ray

    state = state_of_driver()
    found = {}
    environment = state.ray()
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=folder, runtime_env=environment
    )
    try:

        @ray.remote(max_retries=0)
        def observe():
            return state.observe()

        found["running"] = drifts(state, ray)

        def seen(task):
            return drifts(state, {"task": ray.get(task, timeout=120)})

        class Actor:
            def pid(self):
                return os.getpid()

            def observe(self):
                return state.observe()

        actors = [ray.remote(max_restarts=1, max_task_retries=2)(Actor).remote() for _ in range(2)]
        found["joins late"] = seen(actors[1].observe.remote())
        before = ray.get(actors[0].pid.remote(), timeout=120)
        os.kill(before, signal.SIGKILL)
        found["restarts"] = [seen(actors[0].observe.remote()), ray.get(actors[0].pid.remote()) != before]

        @ray.remote(max_retries=2)
        def dies_once(marker):
            if not os.path.exists(marker):
                open(marker, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            return state.observe()

        found["dies"] = seen(dies_once.remote(os.path.join(folder, "died")))
        own = observe.options(runtime_env={"env_vars": OWN})
        found["own environment"] = seen(own.remote())

        @ray.remote(max_retries=0, runtime_env={"env_vars": without_interlock})
        def lacks():
            try:
                import interlock
            except ImportError as error:
                return [str(error), os.environ["NCCL_DEBUG"]]

        found["lacks interlock"] = ray.get(lacks.remote(), timeout=120)
        later = newer(state)
        variables = later.ray()["env_vars"]

        @ray.remote(max_retries=0, runtime_env={"env_vars": variables})
        def of_newer():
            return later.observe(), portable().unknown

        answer, unknown = ray.get(of_newer.remote(), timeout=120)
        found["another version"] = drifts(later, {"task": answer})
        found["unknown parts"] = unknown

        @ray.remote
        def grandchild():
            import subprocess

            code = "from interlock import backends; print(backends.cudnn.deterministic)"
            return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout

        found["grandchild"] = ray.get(grandchild.remote(), timeout=120)
    finally:
        ray.shutdown()
    return found


def ray_lacking(folder, without_interlock):
    """Return what `verify` reports of a cluster whose workers lack interlock."""
    import ray

    state = state_of_driver()
    environment = state.ray()
    environment["env_vars"] |= without_interlock
    ray.init(
        num_cpus=1, include_dashboard=False, log_to_driver=False, _temp_dir=folder, runtime_env=environment
    )
    try:
        return drifts(state, ray)
    finally:
        ray.shutdown()


def spark(without_interlock):
    """Return the outcomes of Spark on a cluster of one executor process."""
    from pyspark import SparkConf, SparkContext

    state = state_of_driver()
    found = {}

    def context(chosen, **variables):
        conf = SparkConf().setMaster("local-cluster[1,2,1024]").setAppName("state")
        conf = conf.set("spark.ui.enabled", "false").setAll(list(chosen.spark().items()))
        for name, value in variables.items():
            conf = conf.setExecutorEnv(name, value)
        return SparkContext(conf=conf)

    with context(state) as workers:
        found["running"] = drifts(state, workers)
        path = os.path.join(os.getcwd(), "died")

        def dies_once(number):
            if number == 0 and not os.path.exists(path):
                open(path, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            return number

        found["result"] = sum(workers.parallelize(range(4), 4).map(dies_once).collect())
        found["dies"] = [os.path.exists(path), drifts(state, workers)]
        path = os.path.join(os.getcwd(), "executor died")

        def executor_dies_once(number):
            if number == 0 and not os.path.exists(path):
                open(path, "w").close()
                # The daemon of the Python workers is a child of the executor.
                with open(f"/proc/{os.getppid()}/stat") as file:
                    os.kill(int(file.read().rpartition(")")[2].split()[1]), signal.SIGKILL)
                time.sleep(60)
            return number

        found["result"] += sum(workers.parallelize(range(4), 4).map(executor_dies_once).collect())
        found["joins late"] = [os.path.exists(path), drifts(state, workers)]
    with context(newer(state)) as workers:
        found["another version"] = drifts(newer(state), workers)
    with context(state, **OWN) as workers:
        found["own environment"] = drifts(state, workers)
    with context(state, **without_interlock) as workers:
        found["lacks interlock"] = drifts(state, workers)
        found["lives"] = workers.parallelize(range(4), 2).sum()
    return found


class Observations:
    """A data set whose items are what the worker has of the state."""

    def __init__(self, state):
        self.state = state
        self.dies = False

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if self.dies and index == 3:
            kill_itself()
        return self.state.observe()


def first(items):
    return items[0]


def say_number(number):
    os.environ["WORKER_NUMBER"] = str(number)


def dataloader(method):
    """Return the outcomes of PyTorch's DataLoader."""
    from torch.utils.data import DataLoader

    state = state_of_driver()
    found = {}

    def loader(chosen, items=None):
        return DataLoader(
            items or Observations(chosen),
            num_workers=2,
            worker_init_fn=chosen.dataloader(say_number),
            multiprocessing_context=method,
            collate_fn=first,
        )

    def seen(chosen, answers):
        return drifts(chosen, {str(answer["pid"]): answer for answer in answers})

    loading = loader(state)
    epochs = [list(loading), list(loading)]
    found["running"] = seen(state, epochs[0])
    found["restarts"] = [
        seen(state, epochs[1]),
        len({answer["pid"] for epoch in epochs for answer in epoch}),
    ]
    items = Observations(state)
    items.dies = True
    try:
        list(loader(state, items))
    except RuntimeError as error:
        found["dies"] = "exited unexpectedly" in str(error)
    found["another version"] = seen(newer(state), list(loader(newer(state))))
    os.environ |= OWN
    found["own environment"] = seen(state, list(loader(state)))
    return found


def torchrun():
    """Start this file with torchrun, and return what each rank has of the state."""
    import subprocess

    state = state_of_driver()
    found = {}
    variables = {
        "restarts": state.env(),
        "own environment": state.env() | {"INTERLOCK_CUDNN_DETERMINISTIC": "0"},
        "another version": newer(state).env(),
    }
    for outcome, given in variables.items():
        environment = os.environ | given
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--max-restarts=1"]
        folder = os.path.join(os.getcwd(), outcome)
        os.mkdir(folder)
        done = subprocess.run([*command, __file__, folder], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        answers = {}
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name)) as file:
                answers[name] = json.load(file)
        attempts = {name.partition(".")[2] for name in answers}
        chosen = newer(state) if outcome == "another version" else state
        found[outcome] = [sorted(attempts), drifts(chosen, answers)]
    return found


def rank(folder):
    """Run as one rank of torchrun; rank 1 fails at its first start."""
    answer = received().observe()
    number = os.environ["RANK"]
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    with open(os.path.join(folder, f"{number}.{attempt}"), "w") as file:
        json.dump(answer, file)
    if (number, attempt) == ("1", "0"):
        sys.exit(1)


def missing_attributes(names):
    """Return which attributes of fakes the real objects lack."""
    import distributed
    import joblib
    import pyspark
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nanny = distributed.Nanny.__init__.__code__.co_names
    real = {
        "Client": dir(distributed.Client),
        "Nanny": nanny,
        "Parallel": dir(joblib.Parallel()),
        "Ray": dir(ray),
        "SparkContext": dir(pyspark.SparkContext),
        "RDD": dir(pyspark.RDD),
        "NodeAffinitySchedulingStrategy": dir(NodeAffinitySchedulingStrategy("0" * 56, False)),
    }
    return {name: sorted(set(needed) - set(real[name])) for name, needed in names.items()}


if "TORCHELASTIC_RESTART_COUNT" in os.environ:
    rank(sys.argv[1])
