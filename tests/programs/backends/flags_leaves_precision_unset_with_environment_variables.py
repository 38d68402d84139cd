import pickle

from interlock.backends import cudnn

cudnn.allow_tf32 = True
scope = cudnn.flags(enabled=True, allow_tf32=True)
with scope:
    assert cudnn.allow_tf32
with pickle.loads(pickle.dumps(scope)):
    assert cudnn.allow_tf32
del cudnn.allow_tf32
assert not cudnn.allow_tf32
