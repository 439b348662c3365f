import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '@holdpoint/infra/local/folders';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { connectOverHttp } from '@holdpoint/sdk/http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { environment, findPython } from '../../kit/python.ts';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until } from '../../kit/until.ts';

const run = promisify(execFile);
const PACKAGES = ['schemathesis==4.32.5', 'openapi-python-client==0.29.1'];

const home = await mkdtemp(join(tmpdir(), 'holdpoint-clients-'));
const found = await findPython();
const installed =
  found.python === undefined
    ? { reason: found.reason }
    : await environment(found.python, join(home, 'venv'), PACKAGES).then(
        (python) => ({ python }),
        () => ({ reason: `no registry has ${PACKAGES.join(' and ')}` }),
      );
if (!('python' in installed)) process.stderr.write(`http schema: skipped: ${installed.reason}\n`);
const PYTHON = 'python' in installed ? installed.python : '';
const hasPython = PYTHON !== '';

const GENERATED = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3'];
const typescript = join(home, 'typescript');
await mkdir(typescript);
await writeFile(join(typescript, 'package.json'), '{"type":"module"}');
const hasGenerator = await run('npm', ['install', '--silent', '--no-audit', '--no-fund', ...GENERATED], {
  cwd: typescript,
}).then(
  () => true,
  () => false,
);
if (!hasGenerator) process.stderr.write(`http schema: skipped: no registry has ${GENERATED.join(' and ')}\n`);

const GO_GENERATOR = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const GO_RUNTIME = 'github.com/oapi-codegen/runtime@v1.9.0';
const goFolder = join(home, 'go');
const inGo = { cwd: goFolder, env: { ...process.env, GOTOOLCHAIN: 'local', GOBIN: join(goFolder, 'bin') } };
await mkdir(join(goFolder, 'api'), { recursive: true });
await writeFile(join(goFolder, 'go.mod'), 'module example.com/generated\n\ngo 1.24\n');
const hasGo = await run('go', ['install', GO_GENERATOR], inGo)
  .then(() => run('go', ['get', GO_RUNTIME], inGo))
  .then(
    () => true,
    () => false,
  );
if (!hasGo) process.stderr.write(`http schema: skipped: no Go of 1.26 or later that finds ${GO_GENERATOR}\n`);
// The example needs the standard library alone, and no registry.
const example = { cwd: join(root, 'examples', 'go'), env: { ...process.env, GOTOOLCHAIN: 'local' } };
const hasCompiler = await run('go', ['vet', './...'], example).then(
  () => true,
  (error: unknown) => {
    process.stderr.write(`http schema: the example in Go is skipped: ${String(error).slice(0, 300)}\n`);
    return false;
  },
);
const isPossible = hasPython || hasGenerator || hasGo || hasCompiler;

let system: System;
let port: number;
beforeAll(async () => {
  if (!isPossible) return;
  system = await createSystem();
  const people: readonly TestPrincipal[] = [
    { name: 'operator', groups: ['operators'], token: system.client.token },
    { name: 'approver', groups: ['operators'], token: system.client.approver },
  ];
  const settings = {
    HOLDPOINT_PRINCIPALS_FILE: await writePrincipals(system.folder, people),
    HOLDPOINT_TRUSTED_PROXIES: '127.0.0.1',
  };
  const started = await Promise.all(
    SERVICES.map((service) => system.start(service, service === 'approvals' ? settings : {})),
  );
  port = started[SERVICES.indexOf('approvals')]?.httpPort ?? 0;
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
  if (isPossible) await system.stop();
});

/** Answers by the document: statuses, media types and bodies. Valid requests may still meet missing things. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'unsupported_method',
  'ignored_auth',
].join(',');

/** Random requests for each operation. A hundred take minutes. */
const EXAMPLES = process.env['HOLDPOINT_TEST_EXAMPLES'] ?? '3';

/** A body over the limit is refused before it is read. */
const CONFIG = '[checks]\nnegative_data_rejection.expected-statuses = ["4xx", "5xx"]\n';

/**
 * A valid claim waits for orders that never come: a millisecond is as good as 25 seconds. Each request comes from another address,
 * because one address with too many wrong tokens is answered with 429.
 */
const HOOKS = `
import itertools
import schemathesis

numbers = itertools.count(1)

@schemathesis.hook
def before_call(context, case, kwargs):
    number = next(numbers)
    case.headers["X-Forwarded-For"] = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    wait = case.body.get("waitMs") if isinstance(case.body, dict) else None
    if case.operation.path == "/claims" and type(wait) is int and 0 < wait <= 25_000:
        case.body["waitMs"] = 1
`;

test.skipIf(!hasPython)('generated requests find no answer outside of the document', async () => {
  const url = `http://127.0.0.1:${String(port)}/api/v1`;
  await writeFile(join(system.folder, 'schemathesis.toml'), CONFIG);
  await writeFile(join(system.folder, 'short_waits.py'), HOOKS);
  const { code, stdout } = await run(
    PYTHON,
    [
      '-m',
      'schemathesis.cli',
      'run',
      `${url}/openapi.json`,
      `--url=${url}`,
      `--header=Authorization: Bearer ${system.client.token}`,
      `--checks=${CHECKS}`,
      // An endless stream.
      '--exclude-operation-id=taskEvents',
      '--phases=examples,coverage,fuzzing',
      `--max-examples=${EXAMPLES}`,
      // The longest wait of a claim, and a margin.
      '--request-timeout=40',
      '--seed=1',
      '--no-color',
      '--continue-on-failure',
    ],
    {
      cwd: system.folder,
      maxBuffer: 1 << 26,
      env: { ...process.env, SCHEMATHESIS_HOOKS: 'short_waits' },
    },
  ).then(
    ({ stdout: text }) => ({ code: 0, stdout: text }),
    (error: { readonly code?: number; readonly stdout?: string }) => ({
      code: error.code ?? 1,
      stdout: error.stdout ?? '',
    }),
  );
  expect({ code, stdout: code === 0 ? '' : stdout }).toEqual({ code: 0, stdout: '' });
  expect(stdout).toMatch(/(\d{3,}) generated, \1 passed/);
});

const TYPED = `
import createClient from 'openapi-fetch';
import type { paths } from './api.ts';

const [baseUrl = '', token = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { authorization: 'Bearer ' + token } });
const input = { type: 'object', properties: { charge: { type: 'string' } } };
const registered = await client.POST('/capabilities', {
  body: { name: 'typed_refund', title: 'Refund \${charge}', kind: 'write_external', effectClass: 'keyed', input },
});
const held = await client.POST('/effects', {
  body: { capability: 'typed_refund', args: { charge: 'ch_1' }, key: 'refund:ch_1' },
});
const found = await client.GET('/effects/{id}', { params: { path: { id: held.data?.id ?? '' } } });
const unknown = await client.POST('/effects', { body: { capability: 'unknown', args: {}, key: 'k' } });
console.log(registered.data?.status, found.data?.capability, unknown.error?.code);
`;

test.skipIf(!hasGenerator)('types that were generated from the document fit its answers', async () => {
  const url = `http://127.0.0.1:${String(port)}/api/v1`;
  const document = join(root, 'packages/contracts/openapi.json');
  const inFolder = { cwd: typescript };
  await run('npx', ['openapi-typescript', document, '-o', 'api.ts'], inFolder);
  await writeFile(join(typescript, 'program.ts'), TYPED);
  await writeFile(join(typescript, 'node.d.ts'), 'declare const process: { readonly argv: string[] };\n');
  const options = ['--strict', '--noEmit', '--skipLibCheck', '--allowImportingTsExtensions'];
  const modules = ['--module', 'nodenext', '--target', 'es2023'];
  const types = await run('npx', ['tsc', ...options, ...modules, 'program.ts', 'node.d.ts'], inFolder).then(
    () => '',
    (error: { readonly stdout?: string }) => error.stdout ?? 'tsc failed',
  );
  expect(types).toBe('');
  const { stdout } = await run(process.execPath, ['program.ts', url, system.client.token], inFolder);
  expect(stdout.trim()).toBe('registered typed_refund APPROVALS_UNKNOWN_CAPABILITY');
});

const PROGRAM = `
import sys
from client import AuthenticatedClient
from client.api.tasks import orchestrator_get, orchestrator_submit
from client.api.effects import effect_hold
from client.models import HoldEffectInput, HoldEffectInputArgs, OrchestratorSubmitBody
client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
task = orchestrator_submit.sync(client=client, body=OrchestratorSubmitBody(workflow="sample", goal="Say hello"))
print(orchestrator_get.sync(task.id, client=client).goal)
wanted = HoldEffectInput(capability="unknown", args=HoldEffectInputArgs(), key="k")
print(effect_hold.sync(client=client, body=wanted).code)
`;

test.skipIf(!hasPython)('a client that was generated from the document submits a task', async () => {
  const url = `http://127.0.0.1:${String(port)}/api/v1`;
  const document = join(root, 'packages/contracts/openapi.json');
  await run(PYTHON, [
    '-m',
    'openapi_python_client',
    'generate',
    `--path=${document}`,
    `--output-path=${join(system.folder, 'client')}`,
    '--meta=none',
  ]);
  await writeFile(join(system.folder, 'program.py'), PROGRAM);
  const { stdout } = await run(PYTHON, ['program.py', url, system.client.token], { cwd: system.folder });
  expect(stdout.trim().split('\n')).toEqual(['Say hello', 'APPROVALS_UNKNOWN_CAPABILITY']);
});

const GO_PROGRAM = `package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"example.com/generated/api"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	client := must(api.NewClientWithResponses(os.Args[1], api.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("authorization", "Bearer "+os.Args[2])
			return nil
		})))
	submission := api.OrchestratorSubmitJSONRequestBody{Workflow: "sample", Goal: "Say hello"}
	made := must(client.OrchestratorSubmitWithResponse(ctx, nil, submission))
	task := must(client.OrchestratorGetWithResponse(ctx, made.JSON200.Id, nil))
	wanted := api.EffectHoldJSONRequestBody{Capability: "unknown", Args: map[string]api.Json{}, Key: "k"}
	held := must(client.EffectHoldWithResponse(ctx, nil, wanted))
	fmt.Println(task.JSON200.Goal, held.ApplicationproblemJSON404.Code)
}
`;

test.skipIf(!hasGo)('a client in Go that was generated from the document submits a task', async () => {
  const url = `http://127.0.0.1:${String(port)}/api/v1`;
  const document = join(root, 'packages/contracts/openapi.json');
  const options = ['-generate', 'types,client', '-package', 'api', '-o', 'api/api.gen.go'];
  await run(join(goFolder, 'bin', 'oapi-codegen'), [...options, document], inGo);
  await writeFile(join(goFolder, 'main.go'), GO_PROGRAM);
  await run('go', ['mod', 'tidy'], inGo);
  const { stdout } = await run('go', ['run', '.', url, system.client.token], inGo);
  expect(stdout.trim()).toBe('Say hello APPROVALS_UNKNOWN_CAPABILITY');
});

test.skipIf(!hasCompiler)('the tests of the example in Go pass', async () => {
  expect((await run('go', ['test', '-count=1', './...'], example)).stdout).toMatch(
    /^ok\s+\S+\/holdpoint\s/mu,
  );
});

const GREET = { name: 'greet', title: 'Greet ${name}', kind: 'notify', effectClass: 'opaque' } as const;

test.skipIf(!hasCompiler)('the example in Go carries out an approved effect', async () => {
  const url = `http://127.0.0.1:${String(port)}`;
  const http = connectOverHttp({ url, token: system.client.token });
  const input = { type: 'object', properties: { name: { type: 'string' } } };
  await http.register({ ...GREET, input });
  const { id } = await http.hold({ capability: GREET.name, args: { name: 'Ada' }, key: 'greet:Ada' });
  const { approval } = await http.held(id, { waitMs: 20_000, not: 'requested' });
  if (approval === undefined) throw new Error('no approval was requested');
  const { digest } = await system.client.ask('approvals', 'get', { id: approval });
  const decision = { id: approval, decision: 'approve', digest } as const;
  await system.client.ask('approvals', 'decide', decision, system.client.approver);
  const env = { ...example.env, HOLDPOINT_URL: url, HOLDPOINT_TOKEN: system.client.token };
  // It ends after one order.
  await run('go', ['run', '.'], { ...example, env });
  const held = await until('the effect is applied', async () => {
    const now = await http.held(id);
    return now.state === 'applied' ? now : undefined;
  });
  expect(held.outputs).toEqual({ text: 'Good morning, Ada' });
});
