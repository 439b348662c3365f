import { errors } from '@nats-io/transport-node';
import { connectAs } from '../../nats/connect.ts';
import type { ConnectAs } from '../../nats/connect.ts';
import { messageOf, Problem } from '../problem.ts';

/** An external server must have the users of Holdpoint. */
export const checkNats = async ({ url, credentialsDir }: Omit<ConnectAs, 'user'>): Promise<void> => {
  try {
    await (await connectAs({ url, credentialsDir, user: 'operator' })).close();
  } catch (error) {
    if (!(error instanceof errors.AuthorizationError))
      throw new Problem(
        `NATS at ${url} cannot be reached (${messageOf(error)}): start it, or correct or unset HOLDPOINT_NATS_URL`,
        { cause: error },
      );
    const remedy = `\`holdpoint nats export --as config --credentials ${credentialsDir} --out <folder>\` writes its accounts`;
    throw new Problem(`NATS at ${url} does not let in Holdpoint's users (${messageOf(error)}): ${remedy}`, {
      cause: error,
    });
  }
};
