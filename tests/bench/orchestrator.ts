import { createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { layout } from '@holdpoint/infra/credentials/layout';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { sealSignerOf } from '@holdpoint/runtime/service/seal-key';
import { natsHeaders, sealWith } from '../kit/bus/seals.ts';

/** Connects as the orchestrator. Services take its sealed messages alone. */
export const connectOrchestrator = async (url: string, credentialsDir: string) => {
  const signer = sealSignerOf(
    createPrivateKey(await readFile(layout(credentialsDir).sealKey('orchestrator'))),
  );
  const connection = await connectAs({ url, credentialsDir, user: 'orchestrator' });
  return {
    publish: (subject: string, message: object): void => {
      const body = JSON.stringify(message);
      connection.publish(subject, body, { headers: natsHeaders(sealWith(signer, subject, body)) });
    },
    flush: () => connection.flush(),
    close: () => connection.close(),
  };
};
