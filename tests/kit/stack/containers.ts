import { randomUUID } from 'node:crypto';
import {
  type ContainerRuntimeClient,
  GenericContainer,
  getContainerRuntimeClient,
  ImageName,
  type StartedTestContainer,
} from 'testcontainers';
import { isOrphan } from './run-folder.ts';

/** The run of a container: its folder. */
const LABEL = 'dev.holdpoint.tests';
/** The name of the volume of a container. */
const VOLUME_LABEL = `${LABEL}.volume`;
/** The cleanup container of Testcontainers for killed runs. Without it, the next run cleans up. */
const REAPER = 'testcontainers/ryuk:0.14.0';

export const IMAGES = { postgres: 'postgres:18', nats: 'nats:2.15' } as const;

const isThere = (client: ContainerRuntimeClient, image: string): Promise<boolean> =>
  client.image.exists(ImageName.fromString(image));

const fetch = async (client: ContainerRuntimeClient, image: string): Promise<void> => {
  if (!(await isThere(client, image))) await client.image.pull(ImageName.fromString(image));
};

/** Throws without a Docker engine or access to its images. */
export const requireContainers = async (): Promise<void> => {
  const client = await getContainerRuntimeClient();
  for (const image of Object.values(IMAGES)) await fetch(client, image);
  // The environment is read when the first container starts, here and in the workers.
  if (!(await isThere(client, REAPER))) process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
};

export const container = (image: string, runFolder: string): GenericContainer =>
  new GenericContainer(image).withLabels({ [LABEL]: runFolder });

/** The files at this path are in a volume that another container can mount. */
export const withVolume = (made: GenericContainer, target: string): GenericContainer => {
  const name = `holdpoint-tests-${randomUUID()}`;
  return made.withLabels({ [VOLUME_LABEL]: name }).withBindMounts([{ source: name, target, mode: 'rw' }]);
};

const removeVolume = async (name: string | undefined): Promise<void> => {
  if (name !== undefined)
    await (await getContainerRuntimeClient()).container.dockerode.getVolume(name).remove();
};

const removeWhere = async (chosen: (runFolder: string) => boolean): Promise<void> => {
  const { dockerode } = (await getContainerRuntimeClient()).container;
  const all = await dockerode.listContainers({ all: true, filters: { label: [LABEL] } });
  for (const { Id, Labels } of all) {
    if (!chosen(Labels[LABEL] ?? '')) continue;
    await dockerode.getContainer(Id).remove({ force: true, v: true });
    await removeVolume(Labels[VOLUME_LABEL]);
  }
};

export const removeContainersOf = (runFolder: string): Promise<void> =>
  removeWhere((folder) => folder === runFolder);
export const removeOrphanedContainers = (): Promise<void> => removeWhere(isOrphan);

/** An extension of Testcontainers: kills a container and starts it again with its files. */
export const killable = async (started: StartedTestContainer) => {
  const { container: client } = await getContainerRuntimeClient();
  const raw = client.getById(started.getId());
  const { Config } = await raw.inspect();
  return {
    kill: async (): Promise<void> => void (await raw.kill({ signal: 'SIGKILL' })),
    stop: async (): Promise<void> => void (await raw.stop({ t: 20 })),
    start: async (): Promise<void> => void (await raw.start()),
    remove: async (): Promise<void> => {
      await raw.remove({ force: true, v: true });
      await removeVolume(Config.Labels[VOLUME_LABEL]);
    },
    /** Runs a script on its volumes while it is stopped. */
    runOnFiles: async (script: string): Promise<void> => {
      const helper = await client.dockerode.createContainer({
        Image: Config.Image,
        Entrypoint: ['sh', '-ec'],
        Cmd: [script],
        User: 'root',
        Labels: { [LABEL]: Config.Labels[LABEL] ?? '' },
        HostConfig: { VolumesFrom: [raw.id] },
      });
      await helper.start();
      const { StatusCode } = (await helper.wait()) as { readonly StatusCode: number };
      await helper.remove({ force: true });
      if (StatusCode !== 0) throw new Error(`${script}: ended with ${String(StatusCode)}`);
    },
  };
};
