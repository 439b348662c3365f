/**
 * The official release that is downloaded where there is no nats-server, with the SHA-256 of its archives: for Linux as
 * in the official image's build file (github.com/nats-io/nats-docker, 2.15.x/alpine3.22/Dockerfile at 629985321b0b),
 * for macOS as in the release's own SHA256SUMS. A platform that is not listed is not downloaded.
 */
export type Release = {
  readonly version: string;
  readonly baseUrl: string;
  readonly sha256: Readonly<Record<string, string>>;
};

export const natsRelease: Release = {
  version: '2.15.0',
  baseUrl: 'https://github.com/nats-io/nats-server/releases/download/v2.15.0',
  sha256: {
    'linux-amd64': '5d2c51caca950333aba84911df7d377f826f3a59ec36061c6539105084f65c92',
    'linux-arm64': 'cdc208f5a3f42963a52b6ab06ef65626bb870315dc936e26ba571780c6351112',
    'linux-arm7': 'ec5f4689d017e07cfa18442e10da051c0f3f9dd2e7f4dc7cdb55a11f1303c952',
    'darwin-amd64': '5bd8b59ca5bf93fab3da2c5843cf564cd6e2e291e22ae3b861746e7ebe259b95',
    'darwin-arm64': 'e1c4e22d70bd44abfa0bcb3c16f7cf0c66f648c2e728c58924e8a1ce88913cc8',
  },
};

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64', arm: 'arm7' };

/** How the release names this machine: `linux-amd64`. */
export const releasePlatform = (platform: string, arch: string): string =>
  `${platform}-${ARCHITECTURES[arch] ?? arch}`;

export const archiveName = ({ version }: Release, platform: string): string =>
  `nats-server-v${version}-${platform}.tar.gz`;

export const dockerImage = 'nats:2.15';
