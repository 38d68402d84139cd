def test_import():
    import torch

    torch.backends.cudnn.deterministic = True
    torch._C._set_grad_enabled(False)


def test_two():
    import torch

    assert not torch.backends.cudnn.deterministic
    assert torch.is_grad_enabled()
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.allow_tf32 = False


def test_write_at_import_is_left():
    import importing


def test_clean():
    import torch

    assert torch.backends.cudnn.benchmark
    assert torch.backends.cudnn.allow_tf32
