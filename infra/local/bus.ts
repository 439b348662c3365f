import { connectAs } from '../nats/connect.ts';
import type { NatsOptions, NatsServer } from './nats/nats.ts';
import { startNats } from './nats/nats.ts';
import { findNats, natsSearchOf } from './nats/nats-program.ts';
import { messageOf, Problem } from './problem.ts';
import type { Progress } from './progress.ts';

/** Finds a nats-server or fetches one, and starts it. */
export const startBus = async (
  options: Omit<NatsOptions, 'program'>,
  progress: Progress,
): Promise<NatsServer> => {
  const program = await findNats(natsSearchOf(process.env), progress);
  return progress.step('starting NATS', () => startNats({ ...options, program }));
};

/** An external server must have the users of Holdpoint. */
export const checkBus = async (url: string, credentialsDir: string): Promise<undefined> => {
  try {
    await (await connectAs({ url, credentialsDir, user: 'operator' })).close();
  } catch (error) {
    const remedy = `\`node infra/nats/main.ts --credentials ${credentialsDir}\` prints the configuration that it needs`;
    throw new Problem(`NATS at ${url} does not let in Holdpoint's users (${messageOf(error)}): ${remedy}`, {
      cause: error,
    });
  }
};
