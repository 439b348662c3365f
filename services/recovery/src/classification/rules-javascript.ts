import { type SectionBorder, build, hint, lint, missing, type Rule, tests } from './rules.ts';

const raw = String.raw;
const VITEST = { within: ['vitest', 'vitest-suites'] } as const;
const SUITES = { only: 'vitest-suites' } as const;
const JEST = { within: ['jest', 'jest-suite'] } as const;

export const JAVASCRIPT_BORDERS: readonly SectionBorder[] = [
  { opens: 'vitest', pattern: raw`^\s*(?:RUN|DEV)\s+v\d+\.` },
  { opens: 'vitest-suites', pattern: raw`^\s*⎯+ Failed Suites \d+ ⎯+` },
  {
    opens: 'vitest',
    pattern: raw`^\s*⎯+ (?:Failed Tests|Unhandled Errors|Failed Typecheck|Failed Benchmarks)\b`,
  },
  { pattern: raw`^\s+Duration\s+\d` },
  { opens: 'jest-suite', pattern: raw`^\s+● Test suite failed to run` },
  { opens: 'jest', pattern: raw`^\s+● .+|^(?:PASS|FAIL) \S+\.[cm]?[jt]sx?\b` },
  { pattern: raw`^Ran all test suites|^Test Suites: ` },
];

export const JAVASCRIPT: readonly Rule[] = [
  build('tsc-error', raw`^[^\s+>|-]\S*\(\d+,\d+\): error TS\d+: `),
  build('tsc-error-pretty', raw`^[^\s+>|-]\S*:\d+:\d+ - error TS\d+: `),
  build('tsc-config', raw`^error TS\d+: `),
  build('ts-node', raw`^(?:\S* ?\[?ERROR\]?.*)?TSError: ⨯ Unable to compile TypeScript`),
  build('esbuild', raw`^✘ \[ERROR\] |^error: Build failed with \d+ errors?:`),
  build(
    'bundler',
    raw`^(?:error during build:|✗ Build failed in |\[!\] (?:\(plugin [^)]*\) )?(?:Rollup|Parse|Syntax)?Error|Failed to compile\.?$|Build failed because of webpack errors)`,
  ),
  build(
    'webpack',
    raw`^(?:ERROR in (?:\./|\[|main|\S+\.[cm]?[jt]sx?)|Module (?:not found|build failed|parse failed)[:(])`,
  ),
  build(
    'bun-build',
    raw`^error: (?:Could not resolve|Expected ".*" but found|Unexpected |Cannot find (?:module|package) )`,
  ),
  build('deno-check', raw`^(?:error: )?TS\d+ \[ERROR\]: `),
  build('node-typescript', raw`^SyntaxError \[ERR_(?:INVALID|UNSUPPORTED)_TYPESCRIPT_SYNTAX\]`),
  // JSON errors at run time say nothing about the build.
  hint('UNKNOWN', 'not-json', raw`^(?:Uncaught )?SyntaxError: .*(?:JSON|is not valid|position \d+)`),
  build(
    'javascript-syntax',
    raw`^(?:Uncaught )?SyntaxError: (?:\S+\.[cm]?[jt]sx?: )?(?:Unexpected|Missing (?:initializer|catch|parameter)|Invalid|Identifier|Illegal|The requested module|Cannot use import|await is only|Unterminated|Expected|Private field|Octal|Duplicate|Export|Import|Failed|missing|Malformed|Rest |Getter|Setter|Undefined label|'\w+' keyword)`,
  ),
  missing(
    'node-module-not-found',
    raw`^(?:\s*Exception during run: )?(?:Uncaught )?Error(?: \[ERR_MODULE_NOT_FOUND\])?: Cannot find (?:module|package) '`,
  ),
  missing(
    'node-module-code',
    raw`^(?:Error|TypeError) \[ERR_(?:MODULE_NOT_FOUND|PACKAGE_PATH_NOT_EXPORTED|UNSUPPORTED_DIR_IMPORT|UNKNOWN_FILE_EXTENSION)\]`,
  ),
  build('eslint-parsing', raw`^\s+\d+:\d+\s+error\s+Parsing error: `),

  build(
    'vitest-suite-syntax',
    raw`^\s*(?:Caused by: )?(?:Error: (?:Transform failed|Parse failure|Failed to parse|Build failed)|(?:Syntax|Rolldown|Rollup)Error: |\[(?:PARSE|TRANSFORM|UNRESOLVED)\w*\])`,
    SUITES,
  ),
  build(
    'vitest-suite-import',
    raw`^\s*(?:Caused by: )?Error: (?:Failed to resolve (?:import|entry)|Cannot find (?:module|package)|Failed to load (?:url|config)|Does the file exist|Missing ".*" specifier|No such file)`,
    SUITES,
  ),
  build('vitest-config', raw`^failed to load config from |^⎯+ Startup Error ⎯+`, VITEST),
  tests('vitest-failed', raw`^\s*FAIL\s+(?:\S+\s+)?\S+\.[cm]?[jt]sx? `, {
    within: [...VITEST.within, ...JEST.within],
  }),
  tests(
    'vitest-assertion',
    raw`^(?:AssertionError|TestTimeoutError|Error|TypeError|ReferenceError|RangeError|SyntaxError): `,
    { only: 'vitest' },
  ),
  tests('vitest-suite-error', raw`^\w*Error: `, SUITES),
  tests(
    'vitest-summary',
    raw`^\s*(?:Tests|Test Files|Errors|Type Errors)\s+\d+ (?:failed|errors?)\b`,
    VITEST,
  ),
  tests('test-report-json', raw`^\s*\{?.*"numFailedTests":\s?[1-9]`, VITEST),
  tests('vitest-no-tests', raw`^No test files found, exiting with code 1`, VITEST),

  build(
    'jest-suite',
    raw`^\s+(?:SyntaxError: |Jest encountered an unexpected token|Jest failed to parse a file|Cannot find module '|Could not locate module |.* error .*TS\d+.*: |Configuration error)`,
    { only: 'jest-suite' },
  ),
  tests('jest-failed', raw`^FAIL \S+\.[cm]?[jt]sx?\b`, JEST),
  tests('jest-test', raw`^\s+● .+`, JEST),
  tests('jest-summary', raw`^(?:Tests|Test Suites):\s+\d+ failed`, JEST),
  tests('mocha-summary', raw`^\s+\d+ failing$`),
  tests('node-test-summary', raw`^(?:ℹ|#) fail [1-9]\d*$`),
  tests('node-test-failing', raw`^(?:✖ failing|Failed) tests:$`),
  tests('junit-xml', raw`^\s*<(?:failure\b|testsuites? .*\bfailures="[1-9])`),
  tests('annotated-test', raw`^::error file=.*,title=.* > .*::`, VITEST),
  tests('tap', raw`^not ok \d+\b`),
  tests('playwright', raw`^\s+\d+\) \[?.+ › .+|^\s+\d+ failed$`),
  tests('cypress', raw`^\s+✖\s+\d+ of \d+ failed`),
  tests('bun-test', raw`^\(fail\) |^ ?\d+ fail$`),
  tests('deno-test', raw`^FAILED \| \d+ passed .*\| \d+ failed`),
  tests('karma', raw`^(?:Executed \d+ of \d+ .*\(\d+ FAILED\)|TOTAL: \d+ FAILED)`),

  lint('eslint', raw`^✖ \d+ problems? \(`),
  lint('eslint-finding', raw`^\s+\d+:\d+\s+error\s+\S`),
  lint('prettier', raw`^\[warn\] Code style issues found|^\[error\] \S+: SyntaxError`),
  lint('oxlint', raw`^Found \d+ warnings? and \d+ errors?\.?$`),
  lint('biome', raw`^(?:Found \d+ errors?\.|× Some errors were emitted while running checks)`),
  lint(
    'coverage',
    raw`^(?:ERROR: Coverage for |Jest: ".*" coverage threshold|FAIL Required test coverage|ERROR: Coverage failure|Coverage failure)`,
    VITEST,
  ),
  lint('formatter', raw`^Format issues found in above \d+ files`),

  missing(
    'npm-dependencies',
    raw`^npm (?:ERR!|error) code (?:ERESOLVE|E404|ETARGET|EINTEGRITY|EUSAGE|EJSONPARSE|EBADENGINE)`,
  ),
  missing(
    'pnpm-dependencies',
    raw`ERR_PNPM_(?:FETCH_404|NO_MATCHING_VERSION|OUTDATED_LOCKFILE|PEER_DEP_ISSUES|LOCKFILE_CONFIG_MISMATCH)`,
  ),
  missing(
    'yarn-dependencies',
    raw`^(?:error Couldn't find (?:any versions|package)|➤ YN(?:0027|0028|0035|0060|0082): )`,
  ),
  missing(
    'npx-tool',
    raw`^\s*This is not the tsc command you are looking for|^npm (?:ERR!|error) could not determine executable to run`,
  ),
  missing(
    'npm-script',
    raw`^npm (?:ERR!|error) Missing script: |ERR_PNPM_NO_SCRIPT|^error Command "\S+" not found\.`,
  ),
  hint(
    'VERIFICATION_FAILED',
    'assertion-error',
    raw`^(?:Uncaught )?AssertionError(?: \[ERR_ASSERTION\])?(?:: |$)`,
  ),
];
