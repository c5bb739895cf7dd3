#!/usr/bin/env python3
"""Runs the recorded scenarios against fresh one-node clusters; every scenario of parity.txt must agree in every step.

Usage: parity.py PARITY_DIR QUORATE_BINARY [AREA ...]
parity.txt lists what has been reached, one scenario a line, with the options that its cluster needs; it only grows. Scenarios that agree
and are not listed are named at the end, to be added. Without options whole areas are run, each that has a scenario in the list; further
ones can be tried by naming them.
"""
import contextlib, json, pathlib, re, socket, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).parent
# How old a cluster with options is when scenarios begin: older than a history of one second.
AGE_SECONDS = 2


def free_port():
    """A port whose peer port, 1000 above, is free as well."""
    for port in range(20443, 29443, 10):
        try:
            for p in (port, port + 1000):
                with socket.socket() as s: s.bind(('127.0.0.1', p))
            return port
        except OSError: continue
    raise SystemExit('no free port')


def reached():
    """The listed scenarios, by the options of their cluster."""
    by_options = {}
    for line in (HERE / 'parity.txt').read_text().splitlines():
        if line.strip() and not line.startswith('#'):
            name, *options = line.split()
            by_options.setdefault(tuple(options), set()).add(name)
    return by_options


@contextlib.contextmanager
def cluster(binary, options):
    """A running cluster: its arguments for the recorded scenarios."""
    with tempfile.TemporaryDirectory() as work:
        data, port = pathlib.Path(work) / 'data', free_port()
        command = [binary, 'dev', '--data-dir', data, '--bind', f'127.0.0.1:{port}', *options]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            for line in server.stdout:
                if line.startswith('ready'): break
            else: raise SystemExit('the server did not start')
            if options: time.sleep(AGE_SECONDS)
            yield ['--server', f'https://127.0.0.1:{port}', '--cert', data / 'pki/admin.crt', '--key', data / 'pki/admin.key', '--ca', data / 'pki/ca.crt']
        finally:
            server.terminate(); server.wait(30)


def run(parity, server, chosen):
    """Runs the chosen scenarios. Those that agree, those that do not, and what was printed."""
    with tempfile.TemporaryDirectory() as work:
        report = pathlib.Path(work) / 'report.json'
        done = subprocess.run([sys.executable, parity / 'parity.py', 'run', *server, *chosen, '--json', report, '-v'],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if not report.exists(): raise SystemExit(f'parity.py failed:\n{done.stdout}')
        good = {r['scenario']: r['bad'] == 0 and not r['error'] for r in json.loads(report.read_text())}
        return {name for name in good if good[name]}, {name for name in good if not good[name]}, done.stdout


def main():
    parity, binary = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    by_options = reached()
    listed = set().union(*by_options.values())
    good, bad, output = set(), set(), ''
    for options, names in sorted(by_options.items()):
        if options: choices = [['--area', name.split('/')[0], '--only', name.split('/')[1]] for name in sorted(names)]
        else: choices = [['--area', area] for area in sorted({name.split('/')[0] for name in names} | set(sys.argv[3:]))]
        with cluster(binary, options) as server:
            for chosen in choices:
                agree, differ, printed = run(parity, server, chosen)
                good |= agree
                bad |= differ
                output += printed
    lost = sorted(listed - good)
    for name in lost:
        print(f'LOST {name}')
        for block in re.split(r'(?m)^(?=FAIL |ERROR |no recording)', output):
            if f' {name} ' in block.split('\n')[0] + ' ' or f' {name}:' in block.split('\n')[0]: print(block.rstrip())
    new = sorted(good - listed)
    if new: print('agree and could be listed:', *new, sep='\n  ')
    print(f'{len(good & listed)} passed, {len(lost)} failed, {len(bad - good - set(lost))} skipped')
    return 1 if lost else 0


if __name__ == '__main__': sys.exit(main())
