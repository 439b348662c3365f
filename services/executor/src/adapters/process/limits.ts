/** What one command and all that it starts may use. What is left out is not limited. */
export type CommandLimits = {
  /** Address space of each process. */
  readonly memoryBytes?: number | undefined;
  /** Processes and threads of the user, or of the command alone where it has a user namespace. */
  readonly processes?: number | undefined;
  /** The size of any file that is written. */
  readonly fileBytes?: number | undefined;
  /** Of each process; at its end it is told (SIGXCPU), and killed soon after. */
  readonly cpuSeconds?: number | undefined;
};

/** So long a process has to end by itself once its time is used up. */
const CPU_GRACE_SECONDS = 5;

/** Arguments of prlimit(1), from util-linux: both limits are set, so that what is limited cannot take them away. */
export const limitArgs = ({
  memoryBytes,
  processes,
  fileBytes,
  cpuSeconds,
}: CommandLimits): readonly string[] => [
  ...(memoryBytes === undefined ? [] : [`--as=${String(memoryBytes)}:${String(memoryBytes)}`]),
  ...(processes === undefined ? [] : [`--nproc=${String(processes)}:${String(processes)}`]),
  ...(fileBytes === undefined ? [] : [`--fsize=${String(fileBytes)}:${String(fileBytes)}`]),
  ...(cpuSeconds === undefined
    ? []
    : [`--cpu=${String(cpuSeconds)}:${String(cpuSeconds + CPU_GRACE_SECONDS)}`]),
];
