// Plain JavaScript and node:http alone, because it is started every few seconds: asks this container's own service
// whether it is ready. The reason why it is not is shown by `docker inspect`.
import { get } from 'node:http';

const ANSWER_WITHIN_MS = 2_000;

const end = (code, text) => {
  process.stdout.write(`${text}\n`);
  process.exit(code);
};

const request = get(
  { host: '127.0.0.1', port: process.env.HOLDPOINT_HTTP_PORT, path: '/readyz' },
  (response) => {
    let body = '';
    response.on('data', (chunk) => (body += chunk));
    response.on('end', () => end(response.statusCode === 200 ? 0 : 1, body));
  },
);
request.on('error', ({ message }) => end(1, message));
setTimeout(() => end(1, `no answer within ${ANSWER_WITHIN_MS} ms`), ANSWER_WITHIN_MS);
