import json
import threading

from interlock import accelerator

index = accelerator.current_device_index
result = [index()]
with accelerator.device_index(1):
    result.append(index())
    with accelerator.device_index(2):
        result.append(index())
    thread = threading.Thread(target=lambda: result.append(index()))
    thread.start()
    thread.join()
    result.append(index())
result.append(index())

print("\n" + json.dumps(result))
