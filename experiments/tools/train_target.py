#!/usr/bin/env python3
"""Trains a small convolutional network on Fashion-MNIST and writes it as a target file.

    python3 train_target.py --activation tanh --output fashion_cnn_w16_tanh.h5
    python3 train_target.py --activation tanh --task pairs --output fashion_pairs_w16_tanh.h5
    python3 train_target.py --task pairs --pairs-output fashion_pairs.h5     # the test pairs alone

Four 3x3 convolutions, each with batch norm before its activation, one or two pools, a global
average and one linear layer. Task `single` is the ten classes of 28x28 images; task `pairs` shows two images,
shrunk to 14x14, as two channels and asks for both classes, a hundred in all (the test pairs go to
the file of --pairs-output). Adam, one-cycle learning rate, one thread, a few minutes.
"""
import argparse
import time

import h5py
import numpy as np
import torch
from torch import nn

import datasets
from pytorch_target import write_target

ACTIVATIONS = {"relu": nn.ReLU, "leaky-relu": lambda: nn.LeakyReLU(0.1), "tanh": nn.Tanh,
               "sigmoid": nn.Sigmoid, "gelu": nn.GELU}
SCALE, OFFSET = 1 / 127.5, -1.0


def build(width, activation, c_in, n_classes, pools):
    """Conv, batch norm, activation, four times; pools[l] stands after activation l."""
    modules = []
    for layer, pool in enumerate(pools):
        modules += [nn.Conv2d(width if layer else c_in, width, 3, padding=1, bias=False),
                    nn.BatchNorm2d(width), ACTIVATIONS[activation]()]
        modules += [pool] if pool else []
    return nn.Sequential(*modules, nn.Flatten(), nn.Linear(width, n_classes))


def shrink(images):
    """Means over 2x2 pixels, rounded."""
    n, c, h, w = images.shape
    return np.round(images.reshape(n, c, h // 2, 2, w // 2, 2).mean((3, 5))).astype(np.uint8)


def make_pairs(images, labels, generator):
    """As many pairs as images: two channels, class 10 a + b."""
    a, b = generator.permutation(len(images)), generator.permutation(len(images))
    return np.concatenate([images[a], images[b]], 1), 10 * labels[a] + labels[b]


def to_input(images):
    return torch.from_numpy(images).float() * SCALE + OFFSET


def evaluate(model, images):
    model.eval()
    with torch.no_grad():
        return torch.cat([model(to_input(part)) for part in np.array_split(images, 50)])


def train(model, draw, epochs, batch, rate, generator):
    """`draw` gives images and labels of an epoch."""
    steps = epochs * (60000 // batch)
    optimizer = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for epoch in range(epochs):
        started, total = time.time(), 0.0
        images, labels = draw()
        order = generator.permutation(len(images))
        model.train()
        for k in range(len(images) // batch):
            index = order[k * batch:(k + 1) * batch]
            loss = nn.functional.cross_entropy(model(to_input(images[index])), torch.from_numpy(labels[index]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / (k + 1):.4f}, {time.time() - started:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--activation", choices=ACTIVATIONS, default="relu")
    parser.add_argument("--task", choices=("single", "pairs"), default="single")
    parser.add_argument("--width", type=int, help="channels of the convolutions", default=16)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--rate", type=float, default=1e-2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", help="the target file")
    parser.add_argument("--pairs-output", help="write the test pairs as HDF5, for --dataset FILE:/images")
    args = parser.parse_args()
    if not args.output and not (args.task == "pairs" and args.pairs_output):
        parser.error("nothing to write: give --output, or --task pairs --pairs-output")
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = np.random.default_rng(args.seed)
    images, labels = datasets.fashion_mnist("train")
    test_images, test_labels = datasets.fashion_mnist("t10k")
    if args.task == "single":
        width, shape, n_classes, dataset = args.width, (1, 28, 28), 10, "fashion-mnist"
        pools = [nn.MaxPool2d(2), nn.MaxPool2d(2), None, nn.AdaptiveAvgPool2d(1)]
        draw = lambda: (images, labels)
    else:
        width, shape, n_classes, dataset = args.width, (2, 14, 14), 100, "pairs of fashion-mnist"
        pools = [nn.MaxPool2d(2), None, None, nn.AdaptiveAvgPool2d(1)]
        small = shrink(images)
        # The test pairs are the same for every network.
        test_images, test_labels = make_pairs(shrink(test_images), test_labels, np.random.default_rng(0))
        draw = lambda: make_pairs(small, labels, generator)
        if args.pairs_output:
            with h5py.File(args.pairs_output, "w") as f:
                f.create_dataset("images", data=test_images, compression="gzip", shuffle=True)
                f["labels"] = test_labels.astype(np.uint8)
    if not args.output:
        return
    model = build(width, args.activation, shape[0], n_classes, pools)
    train(model, draw, args.epochs, args.batch, args.rate, generator)
    logits = evaluate(model, test_images)
    accuracy = float((logits.argmax(1).numpy() == test_labels).mean())
    print(f"{args.activation}: test accuracy {accuracy:.4f}")
    write_target(args.output, model, shape, SCALE, OFFSET, (-1, 1), dataset,
                 title=f"CNN of width {width}, 4 convolutions and one linear layer, trained on {dataset}",
                 activation=args.activation, test_accuracy=accuracy, input_transform="x = pixel/127.5 - 1")
    with h5py.File(args.output, "a") as f:
        f["reference/logits_first_100_test_images"] = logits[:100].numpy()


if __name__ == "__main__":
    main()
