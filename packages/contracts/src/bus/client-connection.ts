/** The options with which every NATS client of Holdpoint connects and stays connected. `url`: separate several with commas. */
export const clientConnection = (url: string, user: string) => ({
  servers: url.split(',').map((each) => each.trim()),
  // The user may receive answers below this prefix only.
  inboxPrefix: `_INBOX_${user}`,
  maxReconnectAttempts: -1,
  // A blocked network looks to the server like a missing login, which must not end the reconnects.
  ignoreAuthErrorAbort: true,
  reconnectTimeWait: 250,
  reconnectJitter: 250,
  pingInterval: 5_000,
  maxPingOut: 2,
});

/** NATS closed the connection because the login arrived too late. The login itself may be valid: try again. */
export const isLateLogin = (error: unknown): boolean =>
  error instanceof Error && /authentication timeout/i.test(error.message);

/** Opens a first connection, and again as long as its login comes too late. */
export const openInTime = async <Connection>(
  open: () => Promise<Connection>,
  onLate: (error: unknown) => void = () => undefined,
): Promise<Connection> => {
  for (;;)
    try {
      return await open();
    } catch (error) {
      if (!isLateLogin(error)) throw error;
      onLate(error);
    }
};
