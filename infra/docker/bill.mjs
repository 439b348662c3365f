// Plain JavaScript: runs while the image is built. Lists the npm packages of the image as CycloneDX, in /app/sbom.cdx.json.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [root] = process.argv.slice(2);
const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));

const component = ({ name, version, license, description }) => ({
  type: 'library',
  'bom-ref': `pkg:npm/${name.replace('@', '%40')}@${version}`,
  name,
  version,
  ...(description && { description }),
  ...(typeof license === 'string' && { licenses: [{ expression: license }] }),
  purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
});

const found = globSync('node_modules/.pnpm/*/node_modules/{*,@*/*}/package.json', { cwd: root })
  .map(read)
  .filter(({ name, version }) => name && version)
  .map(component);
const components = [...new Map(found.map((each) => [each.purl, each])).values()].toSorted((a, b) =>
  a.purl < b.purl ? -1 : 1,
);
if (components.length === 0) throw new Error(`${root}: no packages found`);

const { version, license } = read('package.json');
const bill = {
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: {
    component: { type: 'container', name: 'holdpoint', version, licenses: [{ license: { id: license } }] },
  },
  components,
};
writeFileSync(join(root, 'sbom.cdx.json'), `${JSON.stringify(bill, undefined, 1)}\n`);
