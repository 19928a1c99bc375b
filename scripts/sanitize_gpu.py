#!/usr/bin/env python3
"""Run the suite's test programs on a GPU under the tools of compute-sanitizer, and print a table of what each found.

Before an issue that touches a .cu file is resolved, all programs pass all tools. A finding, a program that fails or one
that does not end within the limit makes the exit code 1; nothing that was not run to its end counts as clean.

    scripts/sanitize_gpu.py build/cuda                        # all tools, every test that runs on a GPU
    scripts/sanitize_gpu.py build/cuda --tools racecheck -R '^nufft'
    scripts/sanitize_gpu.py /opt/larmor/libexec/larmor/tests  # an installed bundle (LARMOR_BUNDLE_TESTS)

The tool `plain` is the program alone. SPDX-License-Identifier: Apache-2.0"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

TOOLS = ("plain", "memcheck", "initcheck", "synccheck", "racecheck")
# Tests provoke errors of CUDA's functions (memory that is not there, what a graph cannot record) and assert their messages;
# larmor looks at every code that is returned, so that an error that no test expects fails the test.
OPTIONS = {
    "memcheck": ["--report-api-errors", "no", "--leak-check", "no"],
    "initcheck": [],
    "synccheck": [],
    # Kernels of CUB and cuFFT are left out: under racecheck they take minutes, and they are not larmor's.
    "racecheck": ["--kernel-name", "kernel_substring=GLOBAL__N"],
}
SKIPPED = 77
# Where the cases of a test take minutes with slowed kernels: those that run under the tools, chosen so that the kernels of the
# whole program are among them; patterns of cmocka. Whole reconstructions repeat the kernels of the layers below, so that
# one case of each program of the pipeline stands for it. The tool `plain` runs all cases.
CASES = {
    "nufft.dumb_inputs": ["a_single*", "prime*", "tolerances*"],
    "nufft.graph": ["a_recorded_type_1*", "a_recorded_type_2*"],
    "nufft.op": ["forward_is*"],
    "nufft.options": ["fft_order*", "spreading*", "the_sign*", "every_method*"],
    "nufft.plan": ["odd*", "clustered*", "points_on*", "a_batch*"],
    "nufft.planner": ["a_grid*", "few*"],
    "nufft.planner_forms": ["the_estimate*"],
    "nufft.planner_type3": ["type_3_without*"],
    "nufft.precompute": ["forms_agree_in_all*", "type_1*"],
    "nufft.sweep": ["an_upsampling_of_2*2d"],
    "nufft.sweep_f32": ["an_upsampling_of_2*3d"],
    "nufft.toeplitz": ["it_is_self*", "a_batch*"],
    "nufft.type3": ["a_batch*"],
    "pipeline.arrays": ["counters*"],
    "pipeline.cartesian": ["a_fully*"],
    "pipeline.checkpoint": ["maps_and*"],
    "pipeline.choose_maps": ["spokes*"],
    "pipeline.compress": ["many*", "images*"],
    "pipeline.devices": ["devices_without*"],
    "pipeline.events": ["stages*"],
    "pipeline.flags": ["readouts_of_two*"],
    "pipeline.frames": ["ticks*"],
    "pipeline.grid": ["matrix*"],
    "pipeline.group": ["every_density*", "whitening*"],
    "pipeline.nlinv": ["the_listener*"],
    "pipeline.plan": ["without_memory*"],
    "pipeline.scale": ["gridding*"],
    "pipeline.series": ["each*"],
    "pipeline.share": ["samples_of*"],
    "pipeline.slab_devices": ["a_listener*"],
    "pipeline.solve": ["no_lambda*", "the_report*"],
    "pipeline.source": ["a_source*"],
    "pipeline.subspace": ["bases*"],
    "pipeline.trajectory": ["partitions*"],
    "recon.admm": ["the_data*"],
    "recon.calib": ["maps_of_s*", "odd*"],
    "recon.cg": ["the_inverse*", "a_heavy*"],
    "recon.choose": ["the_weight_of_noise_follows*"],
    "recon.density": ["ramp*", "pipe*", "samples*", "gridding*"],
    "recon.espirit": ["lines_on*", "samples_anywhere*"],
    "recon.extent": ["coils_without*"],
    "recon.nlinv": ["the_derivative*", "the_adjoint*", "a_monitor*"],
    "recon.off_resonance": ["it_is*", "the_adjoint*", "sense*"],
    "recon.opnorm": ["the_zero*", "it_ends*"],
    "recon.pdhg": ["the_data*"],
    "recon.precondition": ["the_circulant*", "the_preconditioner*"],
    "recon.prox_llr": ["a_series*"],
    "recon.prox_regulariser": ["every_operator*", "every_prox*", "every_penalty_grows*"],
    "recon.prox_tgv": ["an_affine*"],
    "recon.prox_tv": ["a_constant*", "it_is*", "along*"],
    "recon.resume": ["a_state*"],
    "recon.sense_sets": ["several*"],
    "recon.sense_ways": ["some_coils*"],
    "recon.subspace_sense": ["each*"],
}
HOST_ONLY = re.compile(r"^io[.]")  # These programs launch no kernel; the tools would slow down their files alone.


def programs(folder, pattern):
    """{name without its device: (command, environment)} of the tests that CTest knows in a folder."""
    text = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], capture_output=True, text=True,
                          check=True).stdout
    found = {}
    for test in json.loads(text)["tests"]:
        name, at, device = test["name"].partition("@")
        if not at or device not in ("cpu", "cuda") or not re.search(pattern, name) or "command" not in test:
            continue
        environment = {}
        for prop in test.get("properties", []):
            if prop["name"] == "ENVIRONMENT":
                environment = dict(entry.split("=", 1) for entry in prop["value"])
        if device == "cuda" or name not in found:
            found[name] = (test["command"], environment)
    return found


def run(command, environment, tool, case, limit):
    """(verdict, seconds, output) of one program, or of the cases of a pattern, under one tool."""
    prefix = [] if tool == "plain" else ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *OPTIONS[tool]]
    environment = {**os.environ, **environment, "LARMOR_TEST_DEVICE": "cuda"}
    if case:
        environment["LARMOR_TEST_FILTER"] = case
    begun = time.monotonic()
    try:
        done = subprocess.run([*prefix, *command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=limit, errors="replace", check=False)
    except subprocess.TimeoutExpired as late:
        text = late.stdout or b""
        return "not ended", time.monotonic() - begun, text.decode(errors="replace") if isinstance(text, bytes) else text
    seconds = time.monotonic() - begun
    if done.returncode == SKIPPED:
        return "skipped", seconds, done.stdout
    if case and not re.search(r"\[  PASSED  \] [1-9]", done.stdout):
        return f"no case {case} passed", seconds, done.stdout
    if tool == "plain":
        return "clean" if done.returncode == 0 else f"failed ({done.returncode})", seconds, done.stdout
    counted = re.search(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)", done.stdout)
    if not counted:
        return f"failed ({done.returncode})", seconds, done.stdout
    if int(counted.group(1)):
        return f"{counted.group(1)} found", seconds, done.stdout
    return "clean" if done.returncode == 0 else f"failed ({done.returncode})", seconds, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="a build's folder, or the folder of an installed bundle's tests")
    parser.add_argument("-R", default="", metavar="REGEX", help="only tests whose name matches")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS, help="all by default")
    parser.add_argument("-j", type=int, default=max(1, (os.cpu_count() or 2) - 1), help="programs at once")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one program under one tool")
    parser.add_argument("--logs", help="a folder for the output of what is not clean")
    options = parser.parse_args()
    tests = programs(options.folder, options.R)
    if not tests:
        sys.exit(f"{options.folder}: no tests of programs that know devices; configure with -DLARMOR_TESTS=ON")
    if options.logs:
        os.makedirs(options.logs, exist_ok=True)
    jobs = {}
    results = {(name, tool): ("clean" if tool == "plain" or not HOST_ONLY.search(name) else "no kernels", 0.0)
               for name in tests for tool in options.tools}
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        # The slowest tool first, so that its long programs do not begin last.
        for tool in reversed(options.tools):
            for name in tests:
                if results[name, tool][0] == "clean":
                    for case in CASES.get(name, [None]) if tool != "plain" else [None]:
                        jobs[pool.submit(run, *tests[name], tool, case, options.limit)] = (name, tool, case)
        for job in concurrent.futures.as_completed(jobs):
            name, tool, case = jobs[job]
            verdict, seconds, output = job.result()
            print(f"{name} {tool} {case or ''}: {verdict}, {seconds:.0f} s", file=sys.stderr, flush=True)
            worst, total = results[name, tool]
            results[name, tool] = (worst if verdict == "clean" else verdict, total + seconds)
            if options.logs and verdict not in ("clean", "skipped"):
                with open(os.path.join(options.logs, f"{name}.{tool}.txt"), "a", encoding="utf-8") as file:
                    file.write(output)
    print("| test | " + " | ".join(options.tools) + " |\n|---|" + "---|" * len(options.tools))
    for name in tests:
        cells = ["{} {:.0f} s".format(*results[name, tool]) for tool in options.tools]
        print(f"| {name} | " + " | ".join(cells) + " |")
    bad = [key for key, (verdict, _) in results.items() if verdict not in ("clean", "skipped", "no kernels")]
    ran = sum(verdict == "clean" for verdict, _ in results.values())
    print(f"\n{ran} clean, {len(bad)} not, {len(results) - ran - len(bad)} skipped or without kernels, of {len(tests)} programs by "
          f"{len(options.tools)} tools")
    sys.exit(1 if bad or not ran else 0)


if __name__ == "__main__":
    main()
