import interlock
from interlock import accelerator, errors

reported = set()
for use in (interlock.Stream, accelerator.synchronize, accelerator.current_device_index):
    try:
        use()
    except errors.NoAcceleratorError as error:
        reported.add(str(error).partition(": ")[2])
print(*reported, sep="\n")
