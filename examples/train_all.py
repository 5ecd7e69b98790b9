"""Run the four training examples one after another and show what they reached: `make train`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

NAMES = ("train_digits_mlp", "train_digits_cnn", "train_char_lstm", "train_char_gpt")


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/training")
    missed = []
    for name in NAMES:
        script = Path(__file__).with_name(f"{name}.py")
        done = subprocess.run([sys.executable, str(script), "--out", str(folder / name), *sys.argv[2:]])
        if done.returncode:
            missed.append(name)
        print(flush=True)
    print(f"{'example':<18} {'parameters':>10} {'steps':>6} {'seconds':>8}  reached")
    for name in NAMES:
        path = folder / name / "result.json"
        if name in missed or not path.exists():
            print(f"{name:<18} failed, see above")
            continue
        result = json.loads(path.read_text(encoding="utf-8"))
        figures = f"{result['parameters']:>10,} {result['steps']:>6} {result['seconds']:>8.1f}"
        print(f"{name:<18} {figures}  {result['value']:.4f}; the goal is {result['goal']}")
    print(f"curves: {folder}/*/loss.png")
    return len(missed) > 0


if __name__ == "__main__":
    sys.exit(main())
