from interlock.autograd import graph


def test_streams():
    graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    graph.set_override_stale_capture_stream(True)
