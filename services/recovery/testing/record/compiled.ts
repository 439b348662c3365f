import type { Case, Cases } from './case.ts';

const CARGO = ['cargo', '--version'] as const;
const GO = ['go', 'version'] as const;

const manifest = (more = ''): string =>
  `[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n${more}`;
const rustCase = (
  name: string,
  files: Case['files'],
  args: readonly string[] = ['build'],
  failureClass: Case['class'] = 'BROKEN_BUILD',
  rest: Partial<Case> = {},
): Case => ({
  name,
  tool: CARGO,
  files: { 'Cargo.toml': manifest(), ...files },
  run: ['cargo', ...args],
  class: failureClass,
  ...rest,
});

const rust: readonly Case[] = [
  rustCase('mismatched-types', {
    'src/lib.rs':
      'pub fn total(prices: &[u32]) -> u32 {\n    let sum: u32 = prices.len();\n    sum + "1"\n}\n',
  }),
  rustCase('borrow-checker', {
    'src/main.rs':
      'fn main() {\n    let names = vec![String::from("ada")];\n    let moved = names;\n    println!("{} {}", names.len(), moved.len());\n}\n',
  }),
  rustCase('syntax-error', {
    'src/lib.rs': 'pub fn total(prices: &[u32]) -> u32 {\n    prices.iter().sum(\n}\n',
  }),
  rustCase(
    'expected-semicolon-colours',
    {
      'src/lib.rs': 'pub fn one() -> u32 {\n    let a = 1\n    a\n}\n',
    },
    ['build', '--color=always'],
  ),
  rustCase('unresolved-import', {
    'src/lib.rs': 'use tokyo::spawn;\n\npub fn start() {\n    spawn(helper());\n}\n',
  }),
  rustCase('missing-file-for-module', { 'src/lib.rs': 'mod cart;\n\npub use cart::Cart;\n' }, ['check']),
  rustCase('linker', {
    'src/main.rs':
      'extern "C" {\n    fn no_such_symbol();\n}\n\nfn main() {\n    unsafe { no_such_symbol() }\n}\n',
  }),
  rustCase('bad-manifest', { 'Cargo.toml': '[package]\nname = "shop"\nversion = one\n', 'src/lib.rs': '' }),
  rustCase('warnings-and-error', {
    'src/lib.rs': 'use std::fmt;\n\npub fn a() -> i32 {\n    let unused = 1;\n    b()\n}\n',
  }),
  rustCase(
    'rustc-alone',
    { 'main.rs': 'fn main() {\n    let x: i32 = "one";\n    println!("{x}");\n}\n' },
    [],
    'BROKEN_BUILD',
    {
      tool: ['rustc', '--version'],
      run: ['rustc', 'main.rs'],
    },
  ),
  rustCase('build-script-fails', {
    'src/lib.rs': '',
    'build.rs': 'fn main() {\n    panic!("the generated schema is missing");\n}\n',
  }),
  rustCase(
    'test-does-not-compile',
    {
      'src/lib.rs':
        'pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::ad(1, 2), "3");\n    }\n}\n',
    },
    ['test'],
  ),
  rustCase(
    'clippy-denied',
    {
      'src/lib.rs':
        'pub fn all(list: &Vec<u32>) -> bool {\n    if list.len() == 0 {\n        return true;\n    }\n    false\n}\n',
    },
    ['clippy', '--', '-D', 'warnings'],
    'VERIFICATION_FAILED',
  ),
  rustCase('fmt-check', { 'src/lib.rs': 'pub fn a( )->u32{1}\n' }, ['fmt', '--check'], 'VERIFICATION_FAILED'),
  rustCase(
    'panic-at-run-time',
    {
      'src/main.rs':
        'fn main() {\n    let none: Option<u32> = None;\n    println!("{}", none.unwrap());\n}\n',
    },
    ['run', '-q'],
    'UNKNOWN',
  ),
];

const cargoTest: readonly Case[] = [
  rustCase(
    'assertion',
    {
      'src/lib.rs': `pub fn add(a: i32, b: i32) -> i32 {
    a - b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3, "one and two");
    }

    #[test]
    fn adds_nothing() {
        assert_eq!(add(1, 0), 1);
    }
}
`,
    },
    ['test'],
    'VERIFICATION_FAILED',
  ),
  rustCase(
    'panic',
    {
      'src/lib.rs': `#[cfg(test)]
mod tests {
    #[test]
    fn reads_settings() {
        let port: u16 = "eighty".parse().unwrap();
        assert_eq!(port, 80);
    }

    #[test]
    #[should_panic(expected = "overflow")]
    fn overflows() {}
}
`,
    },
    ['test', '--lib'],
    'VERIFICATION_FAILED',
  ),
  rustCase(
    'doctest',
    {
      'src/lib.rs':
        '/// Doubles.\n///\n/// ```\n/// assert_eq!(shop::double(2), 5);\n/// ```\npub fn double(n: u32) -> u32 {\n    n * 2\n}\n',
    },
    ['test'],
    'VERIFICATION_FAILED',
  ),
  rustCase(
    'integration-and-prints',
    {
      'src/lib.rs':
        'pub fn run() -> Result<(), String> {\n    Err("error[E0308]: mismatched types".into())\n}\n',
      'tests/run.rs':
        '#[test]\nfn runs() {\n    println!("error: could not compile `other` (lib) due to 1 previous error");\n    println!("connect ECONNREFUSED 127.0.0.1:5432");\n    shop::run().unwrap();\n}\n',
    },
    ['test', '--no-fail-fast'],
    'VERIFICATION_FAILED',
  ),
];

const goCase = (
  name: string,
  files: Case['files'],
  args: readonly string[] = ['build', './...'],
  failureClass: Case['class'] = 'BROKEN_BUILD',
  env: Case['env'] = {},
): Case => ({
  name,
  tool: GO,
  files: { 'go.mod': 'module example.com/shop\n\ngo 1.22\n', ...files },
  run: ['go', ...args],
  env: { GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local', ...env },
  class: failureClass,
});

const go: readonly Case[] = [
  goCase('undefined', { 'main.go': 'package main\n\nfunc main() {\n\tprintln(total(1, 2))\n}\n' }),
  goCase('type-mismatch', {
    'cart/cart.go':
      'package cart\n\nfunc Total(prices []int) string {\n\tsum := 0\n\tfor _, p := range prices {\n\t\tsum += p\n\t}\n\treturn sum\n}\n',
    'main.go':
      'package main\n\nimport "example.com/shop/cart"\n\nfunc main() {\n\tvar n int = cart.Total(nil)\n\tprintln(n)\n}\n',
  }),
  goCase('unused', {
    'main.go':
      'package main\n\nimport (\n\t"fmt"\n\t"os"\n)\n\nfunc main() {\n\tcount := 1\n\tfmt.Println("x")\n}\n',
  }),
  goCase('syntax-error', {
    'main.go': 'package main\n\nfunc main() {\n\tfor i := 0; i < 3; i++\n\t{\n\t\tprintln(i)\n\t}\n}\n',
  }),
  goCase('missing-package', {
    'main.go': 'package main\n\nimport "example.com/shop/gone"\n\nfunc main() { gone.Run() }\n',
  }),
  goCase(
    'no-required-module',
    {
      'main.go': 'package main\n\nimport "github.com/nobody/nothing"\n\nfunc main() { nothing.Run() }\n',
    },
    ['build', './...'],
    'BROKEN_BUILD',
    { GOFLAGS: '-mod=readonly' },
  ),
  goCase('bad-go-mod', {
    'go.mod': 'modul example.com/shop\n',
    'main.go': 'package main\n\nfunc main() {}\n',
  }),
  goCase('import-cycle', {
    'a/a.go': 'package a\n\nimport "example.com/shop/b"\n\nvar A = b.B\n',
    'b/b.go': 'package b\n\nimport "example.com/shop/a"\n\nvar B = a.A\n',
  }),
  goCase(
    'vet',
    {
      'main.go': 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Printf("%d items\\n", "three")\n}\n',
    },
    ['vet', './...'],
  ),
  goCase(
    'panic-at-run-time',
    {
      'main.go': 'package main\n\nfunc main() {\n\tvar m map[string]int\n\tm["a"] = 1\n}\n',
    },
    ['run', '.'],
    'UNKNOWN',
  ),
];

const addGo = 'package shop\n\nfunc Add(a, b int) int { return a - b }\n';
const addTestGo = `package shop

import "testing"

func TestAdd(t *testing.T) {
	for _, c := range []struct{ a, b, want int }{{1, 2, 3}, {1, 0, 1}} {
		t.Run("", func(t *testing.T) {
			if got := Add(c.a, c.b); got != c.want {
				t.Errorf("Add(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
			}
		})
	}
}
`;
const goTest: readonly Case[] = [
  goCase(
    'assertion',
    { 'add.go': addGo, 'add_test.go': addTestGo },
    ['test', './...'],
    'VERIFICATION_FAILED',
  ),
  goCase(
    'verbose',
    { 'add.go': addGo, 'add_test.go': addTestGo },
    ['test', '-v', './...'],
    'VERIFICATION_FAILED',
  ),
  goCase(
    'panic',
    {
      'add_test.go':
        'package shop\n\nimport "testing"\n\nfunc TestNil(t *testing.T) {\n\tvar p *struct{ n int }\n\tt.Log(p.n)\n}\n',
    },
    ['test', './...'],
    'VERIFICATION_FAILED',
  ),
  goCase(
    'build-failed',
    {
      'add.go': addGo,
      'add_test.go':
        'package shop\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Ad(1, 2) != "3" {\n\t\tt.Fail()\n\t}\n}\n',
    },
    ['test', './...'],
  ),
  goCase(
    'setup-failed',
    {
      'add.go': addGo,
      'add_test.go':
        'package shop\n\nimport (\n\t"testing"\n\n\t"github.com/nobody/assert"\n)\n\nfunc TestAdd(t *testing.T) {\n\tassert.Equal(t, Add(1, 2), 3)\n}\n',
    },
    ['test', './...'],
    'BROKEN_BUILD',
    { GOFLAGS: '-mod=readonly' },
  ),
  goCase(
    'one-package-fails-another-does-not-build',
    {
      'add.go': addGo,
      'add_test.go': addTestGo,
      'cart/cart.go': 'package cart\n\nfunc Total() int { return "0" }\n',
      'cart/cart_test.go': 'package cart\n\nimport "testing"\n\nfunc TestTotal(t *testing.T) { Total() }\n',
    },
    ['test', './...'],
  ),
  goCase(
    'vet-inside-test',
    {
      'add_test.go':
        'package shop\n\nimport "testing"\n\nfunc TestLog(t *testing.T) {\n\tt.Errorf("%d", "three")\n}\n',
    },
    ['test', './...'],
  ),
  goCase(
    'timeout',
    {
      'add_test.go': 'package shop\n\nimport "testing"\n\nfunc TestHangs(t *testing.T) {\n\tselect {}\n}\n',
    },
    ['test', '-timeout', '500ms', './...'],
    'VERIFICATION_FAILED',
  ),
  goCase(
    'asserts-on-a-network-error',
    {
      'dial_test.go': `package shop

import (
	"fmt"
	"net"
	"testing"
)

func TestNamesTheHost(t *testing.T) {
	_, err := net.Dial("tcp", "127.0.0.1:1")
	fmt.Println("./main.go:3:2: undefined: x")
	if err == nil || err.Error() != "db.example refused" {
		t.Fatalf("got %v", err)
	}
}
`,
    },
    ['test', './...'],
    'VERIFICATION_FAILED',
  ),
];

const GCC = ['gcc', '--version'] as const;
const native: readonly Case[] = [
  {
    name: 'gcc-error',
    tool: GCC,
    files: {
      'main.c':
        '#include <stdio.h>\n\nint main(void) {\n    int total = count(3)\n    printf("%d\\n", totl);\n    return 0;\n}\n',
    },
    run: ['gcc', '-c', 'main.c'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'gcc-missing-header',
    tool: GCC,
    files: { 'main.c': '#include "cart.h"\n\nint main(void) { return 0; }\n' },
    run: ['gcc', '-c', 'main.c'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'make-undefined-reference',
    tool: ['make', '--version'],
    files: {
      Makefile: 'all: shop\n\nshop: main.o\n\tgcc -o shop main.o\n\nmain.o: main.c\n\tgcc -c main.c\n',
      'main.c': 'int total(int);\n\nint main(void) { return total(1); }\n',
    },
    run: ['make'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'make-no-rule',
    tool: ['make', '--version'],
    files: {
      Makefile: 'shop: main.o cart.o\n\tgcc -o shop main.o cart.o\n',
      'main.c': 'int main(void) { return 0; }\n',
    },
    run: ['make'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'g++-template',
    tool: ['g++', '--version'],
    files: {
      'main.cpp':
        '#include <string>\n#include <vector>\n\nint main() {\n  std::vector<std::string> names;\n  names.push_back(7);\n  return names.sise();\n}\n',
    },
    run: ['g++', '-c', 'main.cpp', '-fdiagnostics-color=always'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'cmake',
    tool: ['cmake', '--version'],
    files: {
      'CMakeLists.txt':
        'cmake_minimum_required(VERSION 3.20)\nproject(shop C)\nfind_package(NoSuchThing REQUIRED)\n',
    },
    run: ['cmake', '-B', 'build'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'ctest',
    tool: ['ctest', '--version'],
    files: {
      'CMakeLists.txt':
        'cmake_minimum_required(VERSION 3.20)\nproject(shop NONE)\nenable_testing()\nadd_test(NAME adds COMMAND false)\nadd_test(NAME lists COMMAND true)\n',
    },
    prepare: [['cmake', '-B', 'build']],
    run: ['ctest', '--test-dir', 'build', '--output-on-failure'],
    class: 'VERIFICATION_FAILED',
  },
];

const javaCase = (name: string, source: string): Case => ({
  name,
  tool: ['javac', '-version'],
  files: { 'src/Cart.java': source },
  run: ['javac', '-d', 'out', 'src/Cart.java'],
  class: 'BROKEN_BUILD',
});
const java: readonly Case[] = [
  javaCase(
    'cannot-find-symbol',
    'import com.example.Price;\n\nclass Cart {\n    int total() {\n        return Totals.of(this);\n    }\n}\n',
  ),
  javaCase(
    'incompatible-types',
    'class Cart {\n    int total() {\n        String sum = 1;\n        return sum;\n    }\n}\n',
  ),
  javaCase('syntax-error', 'class Cart {\n    int total( {\n        return 1\n    }\n}\n'),
];

export const COMPILED: Cases = { rust, 'cargo-test': cargoTest, go, 'go-test': goTest, native, java };
