import { useEffect, useRef, useState } from 'preact/hooks';
import { visible } from '../text/visible.ts';
import type { Tone, Word } from '../tasks/labels.ts';
import type { Edge, Placed } from './layout.ts';

export type GraphNode = {
  readonly id: string;
  readonly label: string;
  readonly word: Word;
  readonly attempt: number;
};

/** Larger graphs are unreadable. */
export const NODES_MAX = 300;
const LABEL_MAX = 24;
/** Characters of a state that fit the box. */
export const STATE_MAX = 26;
const [WIDTH, HEIGHT] = [190, 54];

const cut = (text: string): string => {
  const shown = visible(text);
  return shown.length > LABEL_MAX ? `${shown.slice(0, LABEL_MAX - 1)}…` : shown;
};

const pathOf = (points: readonly { x: number; y: number }[]): string =>
  points.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join(' ');

const SIGNS: Readonly<Record<Tone, string>> = { good: '✓', bad: '✗', warn: '!', busy: '▶', quiet: '·' };

/** The state of a step, with its attempt if there is room. The list of steps has both. */
export const stateText = ([word, tone]: Word, attempt: number): string => {
  const text = `${SIGNS[tone]} ${word}`;
  const full = `${text} (attempt ${String(attempt)})`;
  return attempt > 1 && full.length <= STATE_MAX ? full : text;
};

/** The workflow graph with node states. The list of steps has the same content as text. */
export const Graph = ({
  nodes,
  edges,
  selected,
  onSelect,
}: {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly Edge[];
  readonly selected: string | undefined;
  readonly onSelect: (id: string) => void;
}) => {
  const [drawing, setDrawing] = useState<Placed>();
  const box = useRef<HTMLDivElement>(null);
  const shape = JSON.stringify([nodes.map(({ id }) => id), edges]);
  useEffect(() => {
    let isOver = false;
    void import('./layout.ts').then(({ placed }) => {
      if (isOver) return;
      const ids = nodes.map(({ id }) => id);
      const flat = placed(ids, edges, 'LR');
      const room = box.current?.clientWidth ?? innerWidth;
      // Left to right if there is room, else top to bottom.
      setDrawing(flat.width <= room ? flat : placed(ids, edges, 'TB'));
    });
    return () => {
      isOver = true;
    };
  }, [shape]);
  if (drawing === undefined) return <div ref={box} />;
  const positions = new Map(drawing.nodes.map((position) => [position.id, position]));
  return (
    <div class="graph" ref={box} tabIndex={0} role="group" aria-label="Workflow graph">
      <svg
        width={drawing.width}
        height={drawing.height}
        viewBox={`0 0 ${String(drawing.width)} ${String(drawing.height)}`}
        role="img"
        aria-label={`Workflow with ${String(nodes.length)} steps; the list of steps has the same content`}
      >
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path d="M0 0L8 4L0 8z" class="arrow" />
          </marker>
        </defs>
        {drawing.edges.map(({ from, to, route, points }) => (
          <path
            key={`${from} ${to} ${route ?? ''}`}
            d={pathOf(points)}
            class={route === undefined ? 'edge' : 'edge route'}
            marker-end="url(#arrow)"
          >
            <title>{route === undefined ? 'then' : `when ${route}`}</title>
          </path>
        ))}
        {nodes.map(({ id, label, word, attempt }) => {
          const position = positions.get(id);
          if (position === undefined) return null;
          return (
            <g
              key={id}
              class={`node ${word[1]}${selected === id ? ' selected' : ''}`}
              transform={`translate(${(position.x - WIDTH / 2).toFixed(1)} ${(position.y - HEIGHT / 2).toFixed(1)})`}
              onClick={() => onSelect(id)}
            >
              <title>{visible(`${label}: ${word[0]}, attempt ${String(attempt)}`)}</title>
              <rect width={WIDTH} height={HEIGHT} rx="8" />
              <text x="12" y="22" class="name">
                {cut(label)}
              </text>
              <text x="12" y="41" class="state">
                {stateText(word, attempt)}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
};
