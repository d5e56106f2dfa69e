import { openSafetensors, type TensorView } from '@markbase/loader/browser';
import { type Histogram, histogramOf } from './histogram.js';

const STEP_COUNT = 64;

const drop = element('drop', HTMLLabelElement);
const input = element('file', HTMLInputElement);
const status = element('status', HTMLElement);
const table = element('table', HTMLTableElement);
const plot = element('plot', HTMLElement);

input.addEventListener('change', () => openChosen(input.files));
drop.addEventListener('dragover', (event) => {
  event.preventDefault();
  drop.classList.add('over');
});
drop.addEventListener('dragleave', () => drop.classList.remove('over'));
drop.addEventListener('drop', (event) => {
  event.preventDefault();
  drop.classList.remove('over');
  openChosen(event.dataTransfer?.files ?? null);
});

function openChosen(files: FileList | null): void {
  const file = files?.[0];
  if (file !== undefined) void report(openFile(file));
}

async function openFile(file: File): Promise<void> {
  table.hidden = true;
  plot.hidden = true;
  const { tensors } = await openSafetensors(file);
  element('tensors', HTMLElement).replaceChildren(...[...tensors.values()].map(rowOf));
  table.hidden = false;
  status.textContent = `${file.name}: ${tensors.size} tensors. Choose one for its histogram.`;
}

function rowOf(tensor: TensorView): HTMLTableRowElement {
  const button = document.createElement('button');
  button.textContent = tensor.name;
  button.addEventListener('click', () => void report(plotTensor(tensor)));
  const row = document.createElement('tr');
  row.append(document.createElement('td'), document.createElement('td'));
  row.append(document.createElement('td'), document.createElement('td'));
  row.cells[0]!.append(button);
  row.cells[1]!.textContent = tensor.dtype;
  row.cells[2]!.textContent = tensor.shape.join(' × ');
  row.cells[3]!.textContent = tensor.range.sizeBytes.toLocaleString('en');
  return row;
}

async function plotTensor(tensor: TensorView): Promise<void> {
  const histogram = histogramOf(await tensor.readFloat32(), STEP_COUNT);
  plot.hidden = false;
  drawBars(element('canvas', HTMLCanvasElement), histogram);
  const { least, greatest, nonFiniteCount } = histogram;
  const others = nonFiniteCount === 0 ? '' : `, ${nonFiniteCount} not finite`;
  element('caption', HTMLElement).textContent =
    `${tensor.name}: ${tensor.elementCount} values from ${least.toPrecision(4)} to ${greatest.toPrecision(4)}${others}`;
}

function drawBars(canvas: HTMLCanvasElement, { counts }: Histogram): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  canvas.width = canvas.clientWidth * devicePixelRatio;
  canvas.height = canvas.clientHeight * devicePixelRatio;
  context.fillStyle = getComputedStyle(canvas).color;
  const width = canvas.width / counts.length;
  const highest = Math.max(1, ...counts);
  for (const [step, count] of counts.entries()) {
    const height = (count / highest) * canvas.height;
    context.fillRect(step * width, canvas.height - height, width - 1, height);
  }
}

/** Shows a failure instead of losing it. */
async function report(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    status.textContent = error instanceof Error ? error.message : String(error);
  }
}

function element<T extends HTMLElement>(id: string, type: abstract new () => T): T {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new TypeError(`the page has no ${type.name} #${id}`);
}
