import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { defineEffect, nothingHappened } from '@holdpoint/sdk/http';
import { z } from 'zod';

/**
 * SMTP has no keys and no query for sent mails: `opaque`. After a connection loss behind the text, an approver answers.
 */
export const mailOver = (port: number) =>
  defineEffect({
    name: 'mail',
    title: 'Mail to ${to}: ${subject}',
    kind: 'notify',
    effectClass: 'opaque',
    target: 'mail:${to}',
    input: z.object({
      to: z.email(),
      subject: z.string().regex(/^[^\r\n]+$/, 'one line'),
      text: z.string(),
    }),
    output: z.object({ answer: z.string() }),
    key: ({ to, subject }) => `mail:${to}:${subject}`,
    run: async ({ to, subject, text }) => {
      const socket = connect(port, '127.0.0.1');
      const ended = once(socket, 'close').then(() => {
        throw new Error('the mail server closed the connection');
      });
      ended.catch(() => undefined);
      const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
      const answer = async (): Promise<string> => {
        const { value } = await Promise.race([lines.next(), ended]);
        return String(value);
      };
      try {
        await answer();
        for (const line of ['HELO holdpoint', 'MAIL FROM:<bot@example.com>', `RCPT TO:<${to}>`, 'DATA']) {
          socket.write(`${line}\r\n`);
          const said = await answer();
          // The text has not left yet.
          if (/^[45]/.test(said)) throw nothingHappened('MAIL_REFUSED', said);
        }
        const body = text.replaceAll(/\r?\n/g, '\r\n').replaceAll(/^\./gm, '..');
        socket.write(`To: ${to}\r\nSubject: ${subject}\r\n\r\n${body}\r\n.\r\n`);
        const said = await answer();
        if (!said.startsWith('250')) throw new Error(`the mail server answers ${said}`);
        return { answer: said };
      } finally {
        socket.destroy();
      }
    },
  });
