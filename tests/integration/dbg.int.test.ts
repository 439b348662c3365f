import { test } from 'vitest';
import { createCountingEngine } from '/work/main/tests/harness/counting-engine.ts';
import { startFaultProxy } from '/work/main/tests/harness/fault-proxy.ts';
import { postgresStore, servicePool, storeDatabase } from '/work/main/tests/harness/store-backing.ts';
test('x', async () => {
  const database = await storeDatabase();
  const proxy = await startFaultProxy(database.admin.host, database.admin.port);
  const pool = await servicePool(database, proxy.port);
  const store = postgresStore(pool);
  const cut = proxy.cutOn('to_server', 'BEGIN');
  void cut.then(() => console.log('cut'));
  const t = setTimeout(() => { console.log('pool', pool.totalCount, pool.idleCount, pool.waitingCount, process.getActiveResourcesInfo()); }, 9000);
  try { await store.lock(['a']); } catch (e) { console.log('lock failed', e); }
  const { tell, failures } = createCountingEngine(store);
  console.log(await tell('a', 'one'), failures);
}, 20000);
