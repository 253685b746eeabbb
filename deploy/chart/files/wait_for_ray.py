"""Waits until a Ray cluster has a number of nodes: the arguments are its address and the number."""

import sys
import time

import ray

LIMIT, PAUSE = 900.0, 5.0

address, nodes = sys.argv[1], int(sys.argv[2])
end = time.monotonic() + LIMIT
while True:
    try:
        ray.init(address, logging_level="ERROR", log_to_driver=False)
        alive = sum(node["Alive"] for node in ray.nodes())
        state = f"{alive} of {nodes} nodes"
        if alive >= nodes:
            break
    except Exception as error:  # noqa: BLE001 (Ray raises those of several packages)
        state = f"{type(error).__name__}: {error}"
    finally:
        ray.shutdown()
    print(f"waiting for the Ray cluster at {address}: {state}", flush=True)
    if time.monotonic() > end:
        sys.exit(f"the Ray cluster at {address} has {state} after {LIMIT:g} seconds; look at the Pods of the cluster")
    time.sleep(PAUSE)
