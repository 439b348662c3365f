import { type SectionBorder, build, hint, lint, missing, type Rule, tests } from './rules.ts';

const raw = String.raw;

export const NATIVE_BORDERS: readonly SectionBorder[] = [
  { opens: 'gtest', pattern: raw`^\[ RUN      \]` },
  { pattern: raw`^\[(?:       OK |  FAILED  |  PASSED  )\]` },
];

/** Compiled languages without a file of their own: C, C++, Swift, the JVM, .NET, PHP, Ruby. */
export const NATIVE: readonly Rule[] = [
  build('compiler-error', raw`^[^\s:][^:]*:\d+(?::\d+)?: (?:fatal )?error: `),
  build('compiler-error-windows', raw`^[A-Za-z]:[^:]+:\d+(?::\d+)?: (?:fatal )?error: `),
  build('msvc', raw`^\S.*\(\d+(?:,\d+)?\)\s?: (?:fatal )?error [A-Z]+\d+: |^LINK : fatal error LNK\d+`),
  build('compiler-driver', raw`^(?:cc1(?:plus)?|gcc|g\+\+|clang(?:\+\+)?): (?:fatal )?error: `),
  build(
    'ld',
    raw`^(?:collect2: error: ld returned|clang(?:\+\+)?: error: linker command failed|(?:\S*/)?ld(?:\.\w+)?: (?:error|cannot find|undefined)|.*: undefined reference to .|Undefined symbols for architecture)`,
  ),
  build(
    'make-no-rule',
    raw`^(?:g?make(?:\[\d+\])?: \*\*\* No (?:rule to make target|targets)|ninja: error: )`,
  ),
  build('cmake', raw`^CMake Error(?: at |:)|^-- Configuring incomplete, errors occurred!`),
  build(
    'maven-compile',
    raw`^\[ERROR\] (?:COMPILATION ERROR|.*\.(?:java|kt|scala):\[\d+,\d+\])|Failed to execute goal .*compiler-plugin`,
  ),
  build(
    'gradle-compile',
    raw`^> Task :\S*[cC]ompile\S* FAILED|^Execution failed for task '\S*[cC]ompile\S*'`,
  ),
  build('kotlin', raw`^e: (?:file://)?\S+\.kts?:`),
  build('scala', raw`^\[error\] \S+\.scala:\d+:\d+: `),
  build('swift', raw`^error: (?:fatalError|emit-module command failed|no such module)`),
  build(
    'php-syntax',
    raw`^(?:PHP )?(?:Parse|Fatal) error: +(?:syntax error|Uncaught Error: Class)|^Errors parsing \S+\.php`,
  ),
  build('ruby-syntax', raw`^\S+\.rb:\d+: (?:syntax errors?\b|.*\(SyntaxError\))`),
  missing(
    'ruby-load',
    raw`cannot load such file -- |^Could not find gem '|^Bundler could not find compatible versions`,
  ),
  build('dotnet', raw`: error (?:CS|FS|BC|MSB|NETSDK|NU)\d+: `),

  tests('ctest', raw`^The following tests FAILED:|^\d+% tests passed, [1-9]\d* tests? failed out of`),
  tests('gtest', raw`^\[  FAILED  \] `, { within: ['gtest'] }),
  tests(
    'surefire',
    raw`^(?:\[ERROR\] )?Tests run: \d+, +(?:Failures: [1-9]|Failures: \d+, Errors: [1-9])|^\[ERROR\] (?:Failures|Errors): *$|There are test failures`,
  ),
  tests('junit-console', raw`^\[\s+[1-9]\d* tests failed\s+\]|^FAILURES!!!$`),
  tests(
    'gradle-test',
    raw`^> Task :\S*[tT]est\S* FAILED|^\d+ tests completed, [1-9]\d* failed|^Execution failed for task '\S*:\w*[tT]est'`,
  ),
  tests('xctest', raw`^\S+: error: -\[|^Test Suite '.*' failed at|^\s*Executed \d+ tests?, with [1-9]`),
  tests('dotnet-test', raw`^\s*Failed!\s+-\s+Failed:|^Test Run Failed\.`),
  tests('phpunit', raw`^(?:FAILURES!|ERRORS!)$|^Tests: \d+, Assertions: \d+, (?:Errors|Failures): [1-9]`),
  tests('rspec', raw`^\d+ examples?, [1-9]\d* failures?`),
  tests(
    'minitest',
    raw`^\d+ (?:runs|tests), \d+ assertions, (?:[1-9]\d* failures|\d+ failures, [1-9]\d* errors)`,
  ),
  lint('shellcheck', raw`^In \S+ line \d+:$`),
  lint('rubocop', raw`^\d+ files? inspected, [1-9]\d* offenses? detected`),
  lint(
    'checkstyle',
    raw`^\[(?:ERROR|WARN)\] \S+\.java:\d+(?::\d+)?: .*\[\w+\]$|You have \d+ Checkstyle violation`,
  ),

  hint(
    'BROKEN_BUILD',
    'command-not-found',
    raw`^(?:\S*/)?(?:sh|bash|zsh|dash|ash|env)(?:: line)?(?:: \d+)?: .*(?:not found|No such file or directory)$|^zsh: command not found: |is not recognized as an internal or external command`,
  ),
  hint('BROKEN_BUILD', 'shell-syntax', raw`^\S+: (?:line )?\d+: [Ss]yntax error`),
  // The words of a check without a test runner.
  hint(
    'VERIFICATION_FAILED',
    'test-words',
    raw`(?i)^\s*(?:error: )?(?:\w+ )?(?:tests?|assertion|check) failed: .*\bexpected\b`,
  ),
];
