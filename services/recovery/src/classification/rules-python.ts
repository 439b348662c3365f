import { type SectionBorder, build, lint, missing, type Rule, tests } from './rules.ts';

const raw = String.raw;
const PYTEST = { within: ['pytest', 'pytest-collecting'] } as const;
const COLLECTING = { only: 'pytest-collecting' } as const;
const UNITTEST = { within: ['unittest', 'unittest-load'] } as const;

export const PYTHON_BORDERS: readonly SectionBorder[] = [
  { opens: 'pytest-collecting', pattern: raw`^_+ ERROR collecting .* _+$` },
  {
    opens: 'pytest',
    pattern: raw`^_+ .+ _+$|^=+ (?:test session starts|FAILURES|ERRORS|short test summary info) =+$`,
  },
  // The runner's last line; with `-q` it has no frame.
  {
    pattern: raw`^(?:=+ )?(?:\d+ (?:failed|passed|errors?|skipped|deselected|xfailed|xpassed|warnings?)(?:, )?)+ in [\d.:]+`,
  },
  { opens: 'unittest-load', pattern: raw`^ERROR: \S+ \(unittest\.loader\._FailedTest` },
  { opens: 'unittest', pattern: raw`^(?:ERROR|FAIL): \S+ \(\S+\)` },
  { pattern: raw`^Ran \d+ tests? in ` },
];

export const PYTHON: readonly Rule[] = [
  build(
    'pytest-collection',
    raw`^E\s+(?:SyntaxError|IndentationError|TabError|ModuleNotFoundError|ImportError|NameError|AttributeError|TypeError|ValueError|\w*Error)\b`,
    COLLECTING,
  ),
  build('pytest-collecting', raw`^_+ ERROR collecting .* _+$`, PYTEST),
  build('pytest-conftest', raw`^ImportError while loading conftest `, PYTEST),
  build('pytest-interrupted', raw`^!+ Interrupted: \d+ errors? during collection !+$`, PYTEST),
  build('pytest-summary-collection', raw`^ERROR [^\s:]+\.py(?:$| - )`, PYTEST),
  // A conftest that cannot be imported is reported before any section.
  missing('pytest-import', raw`^E\s+(?:ModuleNotFoundError|ImportError): `),
  build('pytest-syntax', raw`^E\s+(?:SyntaxError|IndentationError|TabError): `),
  tests('pytest-failed', raw`^FAILED \S+\.py(?:::\S+)?|^ERROR \S+\.py::\S+`, PYTEST),
  tests('pytest-assertion', raw`^E\s{3,}\S`, { only: 'pytest' }),
  tests('pytest-summary', raw`^(?:=+ )?(?:\d+ \w+, )*\d+ (?:failed|errors?)\b.* in [\d.:]+`, PYTEST),
  missing('pytest-no-such-file', raw`^ERROR: (?:file or directory not found|not found): `, PYTEST),
  tests('pytest-none', raw`^(?:=+ )?(?:no tests ran|\d+ deselected) in [\d.:]+`, PYTEST),

  build(
    'unittest-import',
    raw`^(?:ERROR: \S+ \(unittest\.loader\._FailedTest|ImportError: Failed to import test module: )`,
    UNITTEST,
  ),
  build('unittest-import-error', raw`^(?:ModuleNotFoundError|ImportError|SyntaxError|IndentationError): `, {
    only: 'unittest-load',
  }),
  tests('unittest-failed', raw`^(?:ERROR|FAIL): \S+ \(\S+\)`, UNITTEST),
  tests('unittest-error', raw`^\w*(?:Error|Exception): `, { only: 'unittest' }),
  tests(
    'unittest-summary',
    raw`^FAILED \((?:failures|errors|unexpected successes|skipped|expected failures)=`,
  ),

  tests('doctest', raw`^\*\*\*Test Failed\*\*\* \d+ failures?`),
  build('python-syntax', raw`^(?:Sorry: )?(?:SyntaxError|IndentationError|TabError): `),
  build('python-compileall', raw`^\*\*\* Error compiling '`),
  missing('python-module', raw`^ModuleNotFoundError: No module named `),
  missing('python-import', raw`^ImportError: `),
  missing(
    'python-run-module',
    raw`^\S*python[\d.]*(?:\.exe)?: (?:No module named |Error while finding module|can't open file |can't find '__main__')`,
  ),
  build('mypy', raw`^[^\s:]+\.pyi?:\d+(?::\d+)?: error: `),
  build('pyright', raw`^\s+\S+\.pyi?:\d+:\d+ - error: `),
  build('ruff-syntax', raw`^(?:\S+\.pyi?:\d+:\d+: )?(?:invalid-syntax|SyntaxError|E999)\b:? ?`),
  build('black-parse', raw`^error: cannot format \S+: Cannot parse`),
  build('flake8-syntax', raw`^\S+\.py:\d+:\d+: E9\d\d `),
  lint('flake8', raw`^\S+\.pyi?:\d+:\d+: [A-Z]{1,4}\d{1,5}:? `),
  lint('ruff', raw`^[A-Z]{1,4}\d{2,5} (?:\[[*-]\] )?\S`),
  lint(
    'ruff-format',
    raw`^(?:Would reformat: |would reformat |unformatted: |\d+ files? would be reformatted)`,
  ),
  lint('pylint', raw`^Your code has been rated at |^\S+\.py:\d+:\d+: [CRWEF]\d{4}: `),
  lint('isort', raw`^ERROR: \S+ Imports are incorrectly sorted`),
  missing(
    'pip-no-match',
    raw`^ERROR: (?:No matching distribution found|Could not find a version that satisfies|Could not open requirements file|Cannot install |ResolutionImpossible)`,
  ),
  missing(
    'pip-build',
    raw`^(?:ERROR: Failed building wheel for |error: subprocess-exited-with-error|ERROR: Could not build wheels for )`,
  ),
  missing('uv-no-solution', raw`^\s*× No solution found when resolving dependencies`),
];
