import { expect, onTestFinished, test, vi } from 'vitest';
import { loadSqlite } from './sqlite.ts';

test('SQLite loads without the warning of a release that has it as an experiment', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
  const getBuiltinModule = process.getBuiltinModule.bind(process);
  const load = vi.spyOn(process, 'getBuiltinModule').mockImplementation((name: string) => {
    process.emitWarning('SQLite is an experimental feature', 'ExperimentalWarning');
    return getBuiltinModule(name);
  });
  onTestFinished(() => {
    warned.mockRestore();
    load.mockRestore();
  });
  expect(new (loadSqlite().DatabaseSync)(':memory:').isOpen).toBe(true);
  expect(load).toHaveBeenCalledOnce();
  expect(warned).not.toHaveBeenCalled();
  process.emitWarning('another warning');
  expect(warned).toHaveBeenCalledExactlyOnceWith('another warning');
});
