import { type SectionBorder, build, hint, lint, missing, type Rule, tests } from './rules.ts';

const raw = String.raw;
const TEST = { within: ['cargo-test'] } as const;

export const RUST_BORDERS: readonly SectionBorder[] = [
  { opens: 'cargo-test', pattern: raw`^running \d+ tests?$` },
  { pattern: raw`^test result: ` },
];

export const RUST: readonly Rule[] = [
  build('rustc-error', raw`^error\[E\d{4}\]: `),
  build(
    'rustc-syntax',
    raw`^error: (?:expected |unexpected |mismatched closing|this file contains an un|unclosed|unterminated|unknown start of token|cannot find (?:macro|attribute|derive)|no rules expected|macro |found |missing |invalid |unknown |literal |proc-macro |custom attribute|lifetime |borrow )`,
  ),
  build('rustc-short', raw`^\S+\.rs:\d+:\d+: error(?:\[E\d{4}\])?: `),
  build('rustc-linking', raw`^error: linking with .* failed`),
  build(
    'rustc-lib',
    raw`^error: (?:aborting due to|couldn't read |can't find crate|could not find native|internal compiler error)`,
  ),
  build('cargo-could-not-compile', raw`^error: could not (?:compile|document) `),
  build('cargo-build-script', raw`^error: failed to run custom build command for `),
  build(
    'cargo-manifest',
    raw`^error: (?:failed to (?:parse (?:manifest|lock file)|load manifest|read \S+Cargo\.toml)|could not find .Cargo\.toml|invalid character|(?:no|a) (?:bin|example|test) target|the lock file \S+ needs to be updated|cannot update the lock file)|^\s*--> \S*Cargo\.toml:\d+:\d+$`,
  ),
  missing(
    'cargo-no-package',
    raw`^error: (?:failed to (?:get|load|select) |no matching package|failed to select a version|no such (?:sub)?command|package ID specification|toolchain )`,
  ),
  lint(
    'clippy',
    raw`^\s+= note: .(?:-D|#\[deny\()\s*\(?clippy::|^\s+= help: for further information visit \S+rust-clippy/`,
    {
      // Clippy fails because of a rule; the code itself compiles.
      overrules: ['cargo-could-not-compile', 'rustc-syntax', 'rustc-lib'],
    },
  ),
  lint('rustfmt', raw`^Diff in \S+\.rs:\d+`),
  tests('cargo-test-failed', raw`^test \S.* \.\.\. FAILED$`, TEST),
  tests(
    'cargo-panicked',
    raw`^(?:thread '.*' (?:\(\d+\) )?panicked at |assertion (?:.left|failed)|called .(?:Result|Option)::)`,
    { only: 'cargo-test' },
  ),
  tests('cargo-test-result', raw`^test result: FAILED\.`, TEST),
  tests(
    'cargo-test-summary',
    raw`^error: (?:test failed, to rerun|doctest failed|\d+ targets? failed|test run failed|bench failed)`,
    TEST,
  ),
  tests('nextest', raw`^\s+(?:FAIL|SIGABRT|SIGSEGV|TIMEOUT) \[\s*[\d.]+s\] |^\s+Summary \[.*\b\d+ failed`),
  hint(
    'VERIFICATION_FAILED',
    'rust-assertion',
    raw`^assertion .left (?:==|!=|matches) right. failed|^assertion failed: `,
  ),
];
