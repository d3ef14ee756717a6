# numpy: the vector units and OpenBLAS's threads, on numbers whose results do not depend on the order of threads.
import hashlib
import numpy as np

generator = np.random.default_rng(1)
a = generator.standard_normal((300, 300))
b = generator.standard_normal((300, 300))
for name, value in [
    ("product", a @ b),
    ("solution", np.linalg.solve(a, b[:, 0])),
    ("values", np.linalg.svd(a, compute_uv=False)),
    ("fft", np.fft.fft(a[0])),
    ("exp", np.exp(a) + np.sin(b) * np.log(np.abs(a))),
    ("single", (a.astype(np.float32) @ b.astype(np.float32))),
    ("sorted", np.sort(a.ravel())),
    ("sum", np.array([a.sum(), b.mean(), a.std(), np.float64(np.longdouble(1) / 3)])),
]:
    print(name, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest(), value.ravel()[0])
