import { type SectionBorder, build, hint, lint, missing, type Rule, tests } from './rules.ts';

const raw = String.raw;
const TEST = { within: ['go-test'] } as const;

export const GO_BORDERS: readonly SectionBorder[] = [
  { opens: 'go-build', pattern: raw`^# (?:\[)?[\w.-]+(?:/[\w.@~-]+)*\]?(?: \[[\w./@~-]+\])?$` },
  { opens: 'go-test', pattern: raw`^=== RUN\s|^\s*--- FAIL: ` },
  { pattern: raw`^(?:ok|FAIL|\?)\s+\S+|^(?:FAIL|PASS|ok)$` },
];

export const GO: readonly Rule[] = [
  // Linters print like compilers, with their name at the end. Code that does not type-check was not linted.
  build('golangci-typecheck', raw`^\S+\.go:\d+(?::\d+)?: .* \(typecheck\)$`),
  lint(
    'golangci',
    raw`^\S+\.go:\d+(?::\d+)?: .* \([a-z][a-z0-9]+\)$|^\S+\.go:\d+:\d+: .* \([A-Z]{1,3}\d{4}\)$`,
  ),

  build('go-vet', raw`^vet: \S+\.go:\d+:\d+: `),
  build(
    'go-link',
    raw`^(?:\S+: )?relocation target \S+ not defined|^\S*link: |: running (?:gcc|clang) failed|function main is undeclared in the main package`,
  ),
  build('go-build-failed', raw`^FAIL\s+\S+ \[build failed\]`, TEST),
  missing('go-setup-failed', raw`^FAIL\s+\S+ \[setup failed\]`, TEST),
  build('go-test-json-build', raw`^\{.*"Action":"build-(?:fail|output)"|"FailedBuild":"`),
  tests('go-test-json', raw`^\{.*"Action":"fail"`),
  build(
    'go-mod',
    raw`^go: (?:errors parsing |go\.mod file not found|cannot find main module|updates to go\.mod needed|go\.mod requires go|inconsistent vendoring)|^go\.mod:\d+: |missing go\.sum entry`,
  ),
  build(
    'go-import-cycle',
    raw`import cycle not allowed|^found packages \S+ \(|^pattern \S+: directory prefix `,
  ),
  missing(
    'go-no-module',
    raw`^(?:\S+\.go:\d+:\d+: )?(?:no required module provides package|cannot find (?:module providing )?package|package \S+ is not in (?:std|GOROOT)|cannot find module)|^go: (?:no matching versions|module \S+ found .* but does not contain|finding module for package )`,
  ),
  build('go-compile', raw`^\S+\.go:\d+(?::\d+)?: `, { only: 'go-build' }),
  tests('go-test-failed', raw`^\s*--- FAIL: `, TEST),
  tests('go-test-log', raw`^\s+\S+_test\.go:\d+: `, { only: 'go-test' }),
  tests('go-test-package', raw`^FAIL\s+\S+\s+(?:[\d.]+s|\(cached\))`, TEST),
  tests('go-test-timeout', raw`^panic: test timed out after `, TEST),
  tests('go-test-panic', raw`^panic: `, { only: 'go-test' }),
  tests('gotestsum', raw`^=== (?:FAIL|Failed)\b|^DONE \d+ tests, .*\d+ failures?`),
  // Without its heading it may be a test's output.
  hint('BROKEN_BUILD', 'go-position', raw`^[^\s+>|-]\S*\.go:\d+:\d+: `),
];
