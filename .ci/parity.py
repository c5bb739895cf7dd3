#!/usr/bin/env python3
"""Runs the recorded scenarios against a fresh one-node cluster; every scenario of parity.txt must agree in every step.

Usage: parity.py PARITY_DIR QUORATE_BINARY [AREA ...]
parity.txt lists what has been reached, one scenario a line; it only grows. Scenarios that agree and are not listed are
named at the end, to be added. Whole areas are run, each that has a scenario in the list; further ones can be tried by naming them.
"""
import json, pathlib, re, socket, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).parent


def free_port():
    """A port whose peer port, 1000 above, is free as well."""
    for port in range(20443, 29443, 10):
        try:
            for p in (port, port + 1000):
                with socket.socket() as s: s.bind(('127.0.0.1', p))
            return port
        except OSError: continue
    raise SystemExit('no free port')


def main():
    parity, binary = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    listed = {line.strip() for line in (HERE / 'parity.txt').read_text().splitlines() if line.strip() and not line.startswith('#')}
    areas = sorted({name.split('/')[0] for name in listed} | set(sys.argv[3:]))
    with tempfile.TemporaryDirectory() as work:
        data, port = pathlib.Path(work) / 'data', free_port()
        server = subprocess.Popen([binary, 'dev', '--data-dir', data, '--bind', f'127.0.0.1:{port}'], stdout=subprocess.PIPE, text=True)
        try:
            for line in server.stdout:
                if line.startswith('ready'): break
            else: raise SystemExit('the server did not start')
            good, bad, output = set(), {}, ''
            for area in areas:
                report = pathlib.Path(work) / 'report.json'
                done = subprocess.run([sys.executable, parity / 'parity.py', 'run', '--server', f'https://127.0.0.1:{port}', '--area', area,
                    '--cert', data / 'pki/admin.crt', '--key', data / 'pki/admin.key', '--ca', data / 'pki/ca.crt', '--json', report, '-v'],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                output += done.stdout
                if not report.exists(): raise SystemExit(f'parity.py failed:\n{done.stdout}')
                for r in json.loads(report.read_text()):
                    if r['bad'] == 0 and not r['error']: good.add(r['scenario'])
                    else: bad[r['scenario']] = r
                report.unlink()
        finally:
            server.terminate(); server.wait(30)
    lost = sorted(listed - good)
    for name in lost:
        print(f'LOST {name}')
        for block in re.split(r'(?m)^(?=FAIL |ERROR |no recording)', output):
            if f' {name} ' in block.split('\n')[0] + ' ' or f' {name}:' in block.split('\n')[0]: print(block.rstrip())
    new = sorted(good - listed)
    if new: print('agree and could be listed:', *new, sep='\n  ')
    print(f'{len(good & listed)} passed, {len(lost)} failed, {len(set(bad) - set(lost))} skipped')
    return 1 if lost else 0


if __name__ == '__main__': sys.exit(main())
