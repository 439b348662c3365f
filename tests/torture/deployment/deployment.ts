import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { FaultProxy } from '../fault-proxy.ts';

/** A process, and the services that it runs. */
export type Instance = { readonly name: string; readonly services: readonly ServiceName[] };

export type Release = 'this' | 'next';

export type AddedProcess = { readonly pid: () => number; readonly stop: () => Promise<void> };

export type Upstream = 'nats' | 'postgres';
export const UPSTREAMS: readonly Upstream[] = ['nats', 'postgres'];

export type PostgresEnd = 'fast' | 'immediate' | 'kill';

export type Ended = {
  readonly name: string;
  readonly at: string;
  readonly how: string;
  /** Whether the torture caused it. */
  readonly caused: boolean;
};

export type Usage = { readonly instance: string; readonly rssBytes: number; readonly openFiles: number };

/** A small filesystem that a fault can fill. */
export interface Disk {
  /** Takes all free space. */
  readonly fill: () => Promise<void>;
  readonly free: () => Promise<void>;
}

/** A text that may contain a secret by mistake, read in parts. */
export type Text = { readonly name: string; readonly parts: () => AsyncIterable<Buffer> };

export type Row = Readonly<Record<string, unknown>>;

/** The Holdpoint under torture, with the means to break and to inspect it. */
export interface Deployment {
  readonly kind: 'local' | 'compose';
  readonly natsUrl: string;
  readonly credentialsDir: string;
  /** The names and tokens of approvers. */
  readonly people: readonly { readonly name: string; readonly token: string }[];
  /** A file of the executors' workspace; empty when it does not exist. */
  readonly readWorkspace: (file: string) => Promise<string>;
  readonly instances: readonly Instance[];
  /** Processes that run programs. Faults kill, pause and resume them like instances. */
  readonly workers: readonly string[];
  /** The addresses of the console, if it is served. */
  readonly consoles: readonly string[];
  readonly isReady: (instance: string) => Promise<boolean>;
  readonly kill: (instance: string) => Promise<void>;
  readonly pause: (instance: string) => Promise<void>;
  readonly resume: (instance: string) => Promise<void>;
  /** Stops an instance and returns when the next one is ready. */
  readonly restart: (instance: string) => Promise<void>;
  /** Starts one more process, and returns when it is ready. `next`: it sends and stores what the next release may add. */
  readonly startProcess: (instance: Instance, release?: Release) => Promise<AddedProcess>;
  /** Why no process can be added, or undefined. */
  readonly whyNoProcess: string | undefined;
  readonly nats: {
    readonly kill: () => Promise<void>;
    readonly stop: () => Promise<void>;
    readonly start: () => Promise<void>;
    readonly pause: () => Promise<void>;
    readonly resume: () => Promise<void>;
    /** Deletes all JetStream data while the server is down. */
    readonly wipe: () => Promise<void>;
    /** Copies the messages of all streams. */
    readonly copyMessages: () => Promise<void>;
    /** Puts the copy back while the server is down; consumers keep their positions. */
    readonly loseTail: () => Promise<void>;
    /** Why its files cannot be copied, or undefined. */
    readonly whyNoCopy: string | undefined;
    readonly whyNoPause: string | undefined;
  };
  readonly postgres: {
    readonly end: (how: PostgresEnd) => Promise<void>;
    readonly start: () => Promise<void>;
    /** Restarts it if it has exited. */
    readonly revive: () => Promise<void>;
  };
  /** The proxy between two, or undefined. */
  readonly link: (instance: string, upstream: Upstream) => FaultProxy | undefined;
  readonly disk: (upstream: Upstream) => Disk | { readonly whyNot: string };
  /** Runs as the database administrator. */
  readonly query: (sql: string) => Promise<readonly Row[]>;
  /** Changes the schema of a service in a way that its release does not notice. */
  readonly migrate: (service: ServiceName, step: number) => Promise<void>;
  readonly ended: () => readonly Ended[];
  readonly usage: () => Promise<readonly Usage[]>;
  readonly logs: () => Promise<readonly Text[]>;
  /** Ends every fault. */
  readonly heal: () => Promise<void>;
  readonly stop: () => Promise<void>;
}
