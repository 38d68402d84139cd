import importlib
from concurrent.futures import InterpreterPoolExecutor

if __name__ == "__main__":
    with InterpreterPoolExecutor(1) as pool:
        error = pool.submit(importlib.import_module, "interlock").exception()
    assert isinstance(error, ImportError), error
    print(error)
