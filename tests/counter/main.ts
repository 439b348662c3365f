import { parseArgs } from 'node:util';
import { z } from 'zod';
import { DEFAULT_MIX, Mix, ModeSetting } from './modes.ts';
import { startCounter } from './server.ts';

const EXIT_USAGE = 2;

const range = z
  .string()
  .regex(/^\d{1,7},\d{1,7}$/, 'two numbers of milliseconds, with a comma between them')
  .transform((text) => text.split(',').map(Number))
  .transform(([min = 0, max = 0]) => [Math.min(min, max), Math.max(min, max)] as const);

const Arguments = z.object({
  file: z.string({ error: 'the ledger’s file is needed' }).min(1),
  host: z.string().min(1).default('127.0.0.1'),
  port: z.coerce.number().int().min(0).max(65_535).default(0),
  seed: z.string().min(1).default('1'),
  mode: ModeSetting.default('mix'),
  mix: z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue('weights as JSON, such as {"normal":9,"hold":1}');
        return z.NEVER;
      }
    })
    .pipe(Mix)
    .default(DEFAULT_MIX),
  'window-ms': z.coerce.number().int().min(1).optional(),
  'slow-ms': range.default([200, 3_000]),
  'hold-ms': range.default([2_000, 15_000]),
});

const argument = { type: 'string' } as const;

const readArguments = (argv: readonly string[]): z.output<typeof Arguments> => {
  const options = Object.fromEntries(Object.keys(Arguments.shape).map((name) => [name, argument]));
  return Arguments.parse(parseArgs({ args: [...argv], options, strict: true }).values);
};

const complaintOf = (error: unknown): string =>
  error instanceof z.ZodError
    ? error.issues.map(({ path, message }) => `--${path.join('.')}: ${message}`).join('; ')
    : String(error instanceof Error ? error.message : error);

const readOrEnd = (): z.output<typeof Arguments> => {
  try {
    return readArguments(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`counter: ${complaintOf(error)}\n`);
    return process.exit(EXIT_USAGE);
  }
};

const {
  'window-ms': keyWindowMs = Infinity,
  'slow-ms': slowMs,
  'hold-ms': holdMs,
  ...settings
} = readOrEnd();
const counter = await startCounter({ ...settings, keyWindowMs, slowMs, holdMs });
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void counter.stop().then(() => process.exit(0)));
process.stdout.write(
  `${JSON.stringify({ counter: counter.origin, file: settings.file, pid: process.pid })}\n`,
);
