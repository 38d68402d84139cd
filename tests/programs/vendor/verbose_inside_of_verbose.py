from calls_setup import *

with mkldnn.verbose(2), mkl.verbose(1):
    with mkldnn.verbose(1), mkl.verbose(1):
        onednn_calls("oneDNN inside")
        mkl_calls("MKL inside")
    with mkldnn.verbose(0), mkl.verbose(0):
        onednn_calls("oneDNN between")
    onednn_calls("oneDNN outside")
    mkl_calls("MKL outside")
onednn_calls("oneDNN after")
mkl_calls("MKL after")
