import interlock
from interlock import accelerator, errors

told = set()
for use in (interlock.Stream, accelerator.synchronize, accelerator.current_device_index):
    try:
        use()
    except errors.NoAcceleratorError as error:
        told.add(str(error).split("there is none: ")[1])
print(*told, sep="\n")
