import { z } from 'zod';

const NAME = '[a-z0-9_]{1,64}';

/** Name of a remote capability: its label is `cap.remote.<name>`. */
export const RemoteName = z.string().regex(new RegExp(`^${NAME}$`), 'lower-case letters, digits and _');
export type RemoteName = z.infer<typeof RemoteName>;

const LABEL = new RegExp(`^cap\\.remote\\.(${NAME})(?:\\.(?:preview|compensate))?$`);

/** Label of a remote capability, of its preview or of its compensation. */
export const RemoteLabel = z.string().regex(LABEL, 'a label such as cap.remote.refund');
export type RemoteLabel = z.infer<typeof RemoteLabel>;

export const remoteLabelOf = (name: string): string => `cap.remote.${name}`;

/** The name in the label of a remote capability, of its preview or of its compensation; undefined for other labels. */
export const remoteNameIn = (uses: string): string | undefined => LABEL.exec(uses)?.[1];

export const isRemote = (uses: string): boolean => LABEL.test(uses);
