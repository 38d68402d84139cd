from interlock._cli.main import main

main([])
assert "libcudnn" not in open("/proc/self/maps").read()
main(["--load"])
assert "libcudnn" in open("/proc/self/maps").read()
