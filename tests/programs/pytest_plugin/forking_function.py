import os


def test_fork():
    child = os.fork()
    if child == 0:
        os.environ["LEFT"] = "1"
        os._exit(0)
    os.waitpid(child, 0)
