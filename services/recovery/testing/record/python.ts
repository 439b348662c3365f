import type { Case, Cases } from './case.ts';

const PYTHON = ['python3', '--version'] as const;
const PYTEST = ['python3', '-m', 'pytest', '--version'] as const;

const pythonCase = (
  name: string,
  files: Case['files'],
  run: Case['run'],
  failureClass: Case['class'] = 'BROKEN_BUILD',
): Case => ({ name, tool: PYTHON, files, run, class: failureClass });

const python: readonly Case[] = [
  pythonCase(
    'syntax-error',
    { 'app.py': 'def greet(name)\n    return f"hello {name}"\n\nprint(greet("ada"))\n' },
    ['python3', 'app.py'],
  ),
  pythonCase(
    'indentation-error',
    {
      'app.py':
        'def total(prices):\n    result = 0\n  for price in prices:\n        result += price\n    return result\n',
    },
    ['python3', 'app.py'],
  ),
  pythonCase('tab-error', { 'app.py': 'if True:\n    a = 1\n\tb = 2\n' }, [
    'python3',
    '-m',
    'py_compile',
    'app.py',
  ]),
  pythonCase('py-compile', { 'shop/cart.py': 'items = [1, 2\n\ndef add(item):\n    items.append(item)\n' }, [
    'python3',
    '-m',
    'py_compile',
    'shop/cart.py',
  ]),
  pythonCase(
    'compileall',
    {
      'shop/cart.py': 'class Cart:\n    def add(self, item):\n        self.items.append(item\n',
      'shop/__init__.py': '',
    },
    ['python3', '-m', 'compileall', '-q', 'shop'],
  ),
  pythonCase('missing-module', { 'app.py': 'import no_such_requests\n\nno_such_requests.get("/")\n' }, [
    'python3',
    'app.py',
  ]),
  pythonCase(
    'missing-name-in-module',
    { 'app.py': 'from shop import checkout\n\ncheckout()\n', 'shop.py': 'def check_out():\n    pass\n' },
    ['python3', 'app.py'],
  ),
  pythonCase('run-module-missing', { 'app.py': '' }, ['python3', '-m', 'shop.tools.migrate']),
  pythonCase(
    'key-error-at-run-time',
    { 'app.py': 'settings = {}\nprint(settings["port"])\n' },
    ['python3', 'app.py'],
    'UNKNOWN',
  ),
  pythonCase(
    'assertion-in-a-script',
    { 'check.py': 'total = sum([1, 2])\nassert total == 4, f"expected 4, got {total}"\n' },
    ['python3', 'check.py'],
    'VERIFICATION_FAILED',
  ),
  {
    name: 'mypy',
    tool: ['python3', '-m', 'mypy', '--version'],
    files: {
      'shop.py':
        'def total(prices: list[int]) -> int:\n    return ",".join(str(p) for p in prices)\n\n\ntotal("12")\nmissing()\n',
    },
    run: ['python3', '-m', 'mypy', 'shop.py'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'ruff-findings',
    tool: ['python3', '-m', 'ruff', '--version'],
    files: {
      'shop.py': 'import os\nimport sys\n\n\ndef total(prices):\n    unused = 1\n    return sum(prices)\n',
    },
    run: ['python3', '-m', 'ruff', 'check', '.'],
    class: 'VERIFICATION_FAILED',
  },
  {
    name: 'ruff-syntax-error',
    tool: ['python3', '-m', 'ruff', '--version'],
    files: { 'shop.py': 'def total(prices:\n    return sum(prices)\n' },
    run: ['python3', '-m', 'ruff', 'check', '.'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'ruff-format',
    tool: ['python3', '-m', 'ruff', '--version'],
    files: { 'shop.py': "a = {  'b':1 }\n" },
    run: ['python3', '-m', 'ruff', 'format', '--check', '.'],
    class: 'VERIFICATION_FAILED',
  },
];

const pytestCase = (
  name: string,
  files: Case['files'],
  failureClass: Case['class'] = 'VERIFICATION_FAILED',
  args: readonly string[] = [],
  env: Case['env'] = {},
): Case => ({
  name,
  tool: PYTEST,
  files,
  run: ['python3', '-m', 'pytest', '-p', 'no:cacheprovider', ...args],
  env,
  class: failureClass,
});

const cartTest = `from cart import total


def test_total_of_two():
    assert total([1, 2]) == 3


def test_total_of_nothing():
    assert total([]) == 0
`;
const wrongCart =
  'def total(prices):\n    result = 1\n    for price in prices:\n        result += price\n    return result\n';

const pytest: readonly Case[] = [
  pytestCase('assertion', { 'cart.py': wrongCart, 'test_cart.py': cartTest }),
  pytestCase('assertion-colours', { 'cart.py': wrongCart, 'test_cart.py': cartTest }, 'VERIFICATION_FAILED', [
    '--color=yes',
  ]),
  pytestCase('quiet', { 'cart.py': wrongCart, 'test_cart.py': cartTest }, 'VERIFICATION_FAILED', [
    '-q',
    '--tb=line',
  ]),
  pytestCase('collection-import-error', { 'test_cart.py': cartTest }, 'BROKEN_BUILD'),
  pytestCase(
    'collection-syntax-error',
    { 'cart.py': 'def total(prices:\n    pass\n', 'test_cart.py': cartTest },
    'BROKEN_BUILD',
  ),
  pytestCase('collection-quiet', { 'test_cart.py': cartTest }, 'BROKEN_BUILD', ['-q', '--tb=no']),
  pytestCase(
    'conftest-import-error',
    { 'conftest.py': 'import no_such_plugin\n', 'cart.py': wrongCart, 'test_cart.py': cartTest },
    'BROKEN_BUILD',
  ),
  pytestCase('missing-fixture', {
    'test_db.py': 'def test_rows(database):\n    assert database.rows() == []\n',
  }),
  pytestCase('import-inside-a-test', {
    'test_lazy.py': 'def test_lazy():\n    import no_such_module\n\n    assert no_such_module\n',
  }),
  pytestCase('asserts-on-a-network-error', {
    'test_client.py': `import socket

import pytest


def connect():
    raise ConnectionRefusedError(111, "Connection refused")


def test_names_the_host():
    with pytest.raises(ConnectionRefusedError, match="db.example"):
        connect()


def test_times_out():
    print("requests.exceptions.ConnectionError: HTTPConnectionPool(host='db.example', port=80): Max retries exceeded")
    assert socket.timeout is None
`,
  }),
  pytestCase('prints-compiler-errors', {
    'test_wrapper.py': `def test_wrapper_counts():
    print("error[E0308]: mismatched types")
    print("./main.go:3:2: undefined: x")
    print("SyntaxError: invalid syntax")
    assert 1 == 2
`,
  }),
];

const unittest: readonly Case[] = [
  pythonCase(
    'failure',
    {
      'test_cart.py': `import unittest


class CartTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(sum([1, 2]), 4)

    def test_lookup(self):
        {}["price"]


if __name__ == "__main__":
    unittest.main()
`,
    },
    ['python3', '-m', 'unittest'],
    'VERIFICATION_FAILED',
  ),
  pythonCase(
    'import-error',
    {
      'test_cart.py':
        'import unittest\nfrom cart import total\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self):\n        total([])\n',
    },
    ['python3', '-m', 'unittest'],
  ),
];

export const PYTHONS: Cases = { python, pytest, unittest };
