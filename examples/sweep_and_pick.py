"""Find the best accelerator for a network on a board and hand its parameters to a hardware generator."""

import dse

result = dse.sweep(["lenet10"], ["zcu102"], ["channel"], batch_sizes=[16], trials=100, seed=0)
cell = result.cells[0]
if cell.best is None:
    raise SystemExit(f"nothing fits: {cell.diagnosis}")
for name, value in cell.best.point.items():
    print(f"parameter int unsigned {name.upper()} = {value};")
print(f"// {cell.best.estimate['iteration_s'] * 1e3:.3f} ms an iteration, gap to the optimum {cell.proof.gap:.2%}")
